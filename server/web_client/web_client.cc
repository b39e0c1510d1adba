#include "server/web_client/web_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::web {
namespace {

constexpr size_t kMostHeaderBytes = 64 << 10;

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

/// A request that is under way, and why we have ended it, if we have.
struct Exchange {
  const Request& request;
  uint64_t offset = 0;  // of the body
  size_t header_bytes = 0;
  std::string body;
  absl::Status ended;
};

// Called by curl. What they return instead of the length that they were given ends the request.

size_t TakeHeader(const char*, size_t size, size_t count, void* of) {
  Exchange& exchange = *static_cast<Exchange*>(of);
  exchange.header_bytes += size * count;
  if (exchange.header_bytes <= kMostHeaderBytes) return size * count;
  exchange.ended = absl::UnavailableError(
      absl::StrCat("the headers of the answer are longer than ", kMostHeaderBytes, " bytes"));
  return 0;
}

size_t TakeBody(const char* piece, size_t size, size_t count, void* of) {
  Exchange& exchange = *static_cast<Exchange*>(of);
  if (!exchange.request.most_bytes) return size * count;
  const size_t most = *exchange.request.most_bytes;
  if (size * count <= most - exchange.body.size()) {
    exchange.body.append(piece, size * count);
    return size * count;
  }
  exchange.ended =
      absl::UnavailableError(absl::StrCat("the answer is longer than ", most, " bytes"));
  return 0;
}

size_t GiveBody(char* to, size_t size, size_t count, void* of) {
  Exchange& exchange = *static_cast<Exchange*>(of);
  const Body& body = *exchange.request.body;
  const size_t bytes = std::min<uint64_t>(size * count, body.bytes - exchange.offset);
  if (bytes == 0) return 0;
  exchange.ended = body.read(exchange.offset, {to, bytes});
  if (!exchange.ended.ok()) return CURL_READFUNC_ABORT;
  exchange.offset += bytes;
  return bytes;
}

int SeekBody(void* of, curl_off_t offset, int origin) {
  Exchange& exchange = *static_cast<Exchange*>(of);
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
  exchange.offset = std::min(static_cast<uint64_t>(offset), exchange.request.body->bytes);
  return CURL_SEEKFUNC_OK;
}

int Watch(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  Exchange& exchange = *static_cast<Exchange*>(of);
  if (!exchange.request.stopped()) return 0;
  exchange.ended = absl::CancelledError("the request was ended by this service");
  return 1;
}

/// Hosts to which no proxy leads: what is in plain text to this machine stays on it.
std::string WithoutProxy() {
  std::string hosts = "127.0.0.1,localhost,::1";
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    if (const char* more = std::getenv(name)) absl::StrAppend(&hosts, ",", more);  // NOLINT
  }
  return hosts;
}

long Milliseconds(absl::Duration duration) {
  return std::max<long>(1, absl::ToInt64Milliseconds(duration));
}

void SetLimits(CURL* curl, const Request& request) {
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(request.connect_limit));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, Milliseconds(request.limit));
  if (request.stall_limit == absl::InfiniteDuration()) return;
  const double seconds = std::ceil(absl::ToDoubleSeconds(request.stall_limit));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, std::max(1L, std::lround(seconds)));
}

void SetTrust(CURL* curl, const Trust& trust) {
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!trust.ca_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, trust.ca_file.c_str());
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);  // those and no others
  }
  if (trust.certificate_file.empty()) return;
  curl_easy_setopt(curl, CURLOPT_SSLCERT, trust.certificate_file.c_str());
  curl_easy_setopt(curl, CURLOPT_SSLKEY, trust.private_key_file.c_str());
}

void SetBody(CURL* curl, Exchange& exchange) {
  if (!exchange.request.body) return;
  // A long body waits for a word that it is wanted, which not every server gives.
  curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 200L);
  curl_easy_setopt(curl, CURLOPT_POST, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(exchange.request.body->bytes));
  curl_easy_setopt(curl, CURLOPT_READFUNCTION, &GiveBody);
  curl_easy_setopt(curl, CURLOPT_READDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, &SeekBody);
  curl_easy_setopt(curl, CURLOPT_SEEKDATA, &exchange);
}

void SetAnswer(CURL* curl, Exchange& exchange) {
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &TakeHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  if (!exchange.request.stopped) return;
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Watch);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
}

Answer AnswerOf(CURL* curl, Exchange& exchange) {
  Answer answer{.body = std::move(exchange.body)};
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  const char* type = nullptr;
  curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
  if (type != nullptr) answer.content_type = type;
  curl_off_t seconds = 0;
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds);
  answer.retry_after = absl::Seconds(std::max<curl_off_t>(0, seconds));
  return answer;
}

}  // namespace

Body BodyOf(std::string text) {
  const uint64_t bytes = text.size();
  return {.bytes = bytes, .read = [text = std::move(text)](uint64_t offset, std::span<char> piece) {
            std::memcpy(piece.data(), text.data() + offset, piece.size());
            return absl::OkStatus();
          }};
}

absl::StatusOr<Answer> Ask(const Request& request, const Trust& trust) {
  // Once, before other threads call it.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, CloseHandle> handle(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (handle == nullptr) return absl::UnavailableError("libcurl cannot be used");
  CURL* const curl = handle.get();
  curl_slist* lines = nullptr;
  for (const std::string& header : request.headers)
    lines = curl_slist_append(lines, header.c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(lines,
                                                                            &curl_slist_free_all);
  Exchange exchange{.request = request};
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
  // One request has nothing of several at once.
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, WithoutProxy().c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);  // there are threads
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  if (!request.user.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, request.user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, request.password.c_str());
  }
  SetLimits(curl, request);
  SetTrust(curl, trust);
  SetBody(curl, exchange);
  SetAnswer(curl, exchange);
  const CURLcode done = curl_easy_perform(curl);
  if (!exchange.ended.ok()) return exchange.ended;
  if (done != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(done));
  return AnswerOf(curl, exchange);
}

}  // namespace isocenter::web
