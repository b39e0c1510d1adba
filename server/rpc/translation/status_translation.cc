#include "server/rpc/translation/status_translation.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/try_again.h"

namespace isocenter::rpc {
namespace {

// Trailers are limited to 8 KiB by default and percent-encoding triples what is not ASCII.
constexpr size_t kLongestMessage = 2000;

void AddTryAgain(const absl::Status& status, grpc::ServerContextBase& call) {
  if (!MayTryAgain(status)) return;
  call.AddTrailingMetadata("isocenter-try-again", "later");
  const std::optional<absl::Duration> after = RetryAfter(status);
  if (!after) return;
  const absl::Duration wait =
      absl::Ceil(std::max(*after, absl::ZeroDuration()), absl::Milliseconds(1));
  call.AddTrailingMetadata("isocenter-retry-after-ms",
                           absl::StrCat(absl::ToInt64Milliseconds(wait)));
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status, grpc::ServerContextBase& call) {
  AddTryAgain(status, call);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, kLongestMessage)));
}

}  // namespace isocenter::rpc
