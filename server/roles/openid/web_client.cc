#include "server/roles/openid/web_client.h"

#include <curl/curl.h>

#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace isocenter::openid {
namespace {

constexpr long kConnectSeconds = 3;

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

struct Received {
  std::string body;
  size_t most_bytes;
};

/// Called by curl with a piece of the answer. Another return than the piece's length ends it.
size_t Take(const char* piece, size_t size, size_t count, void* taker) {
  Received& received = *static_cast<Received*>(taker);
  if (size * count > received.most_bytes - received.body.size()) return 0;
  received.body.append(piece, size * count);
  return size * count;
}

absl::StatusOr<WebAnswer> Ask(const WebRequest& request, const std::string& ca_file) {
  // Once, before other threads call it.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, CloseHandle> handle(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (handle == nullptr) return absl::UnavailableError("libcurl cannot be used");
  CURL* const curl = handle.get();
  Received received{.most_bytes = request.most_bytes};
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  // Plain text only where the configuration's check has let it through, which is on this machine.
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, static_cast<long>(absl::ToInt64Seconds(kLongestAnswer)));
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!ca_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file.c_str());
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);  // those and no others
  }
  if (!request.form.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.form.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.form.c_str());
  }
  if (!request.user.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, request.user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, request.password.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &received);
  const CURLcode done = curl_easy_perform(curl);
  if (done == CURLE_WRITE_ERROR) {
    return absl::UnavailableError(
        absl::StrCat(request.url, ": the answer is longer than ", request.most_bytes, " bytes"));
  }
  if (done != CURLE_OK) {
    return absl::UnavailableError(absl::StrCat(request.url, ": ", curl_easy_strerror(done)));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return WebAnswer{.status = static_cast<int>(status), .body = std::move(received.body)};
}

}  // namespace

Fetch MakeWebClient(std::string ca_file) {
  return
      [ca_file = std::move(ca_file)](const WebRequest& request) { return Ask(request, ca_file); };
}

std::string EncodeForm(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded.push_back(c);
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace isocenter::openid
