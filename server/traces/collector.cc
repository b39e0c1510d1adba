#include "server/traces/collector.h"

#include <curl/curl.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace isocenter::traces {
namespace {

// An answer's body is of no use, however long.
size_t Ignore(char*, size_t size, size_t count, void*) { return size * count; }

bool IsPassing(long status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

absl::Status Post(const CollectorOptions& collector, const std::string& json) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(ready));
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  if (curl == nullptr) return absl::UnavailableError("no memory for a request");
  curl_slist* lines = curl_slist_append(nullptr, "Content-Type: application/json");
  for (const std::string& header : collector.headers)
    lines = curl_slist_append(lines, header.c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(lines,
                                                                            &curl_slist_free_all);
  const long milliseconds = absl::ToInt64Milliseconds(collector.limit);
  curl_easy_setopt(curl.get(), CURLOPT_URL, collector.endpoint.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, json.data());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, milliseconds);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT_MS, milliseconds / 2);
  // Threads: no signals.
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Ignore);
  curl_easy_setopt(curl.get(), CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!collector.ca_file.empty()) {
    curl_easy_setopt(curl.get(), CURLOPT_CAINFO, collector.ca_file.c_str());
  }
  const CURLcode sent = curl_easy_perform(curl.get());
  if (sent != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(sent));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return absl::OkStatus();
  const std::string what = absl::StrCat("the answer is ", status);
  return IsPassing(status) ? absl::UnavailableError(what) : absl::FailedPreconditionError(what);
}

}  // namespace isocenter::traces
