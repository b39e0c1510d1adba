#include "server/traces/collector.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/web_client/web_client.h"

namespace isocenter::traces {
namespace {

bool IsPassing(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

absl::Status Post(const CollectorOptions& collector, const std::string& json) {
  web::Request request{.url = collector.endpoint,
                       .headers = {"Content-Type: application/json"},
                       .body = web::BodyOf(json),
                       .connect_limit = collector.limit / 2,
                       .limit = collector.limit};
  request.headers.insert(request.headers.end(), collector.headers.begin(), collector.headers.end());
  ISO_ASSIGN_OR_RETURN(const web::Answer answer, web::Ask(request, {.ca_file = collector.ca_file}));
  if (answer.status >= 200 && answer.status < 300) return absl::OkStatus();
  const std::string what = absl::StrCat("the answer is ", answer.status);
  return IsPassing(answer.status) ? absl::UnavailableError(what)
                                  : absl::FailedPreconditionError(what);
}

}  // namespace isocenter::traces
