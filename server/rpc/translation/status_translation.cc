#include "server/rpc/translation/status_translation.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace isocenter::rpc {
namespace {

// Trailers are limited to 8 KiB by default and percent-encoding triples what is not ASCII.
constexpr size_t kLongestMessage = 2000;
constexpr char kRetryAfter[] = "isocenter-retry-after-ms";

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, kLongestMessage)));
}

void AddRetryAfter(std::optional<absl::Duration> retry_after, grpc::ServerContextBase& call) {
  if (!retry_after || *retry_after == absl::InfiniteDuration()) return;
  const absl::Duration wait =
      absl::Ceil(std::max(*retry_after, absl::ZeroDuration()), absl::Milliseconds(1));
  call.AddTrailingMetadata(kRetryAfter, absl::StrCat(absl::ToInt64Milliseconds(wait)));
}

}  // namespace isocenter::rpc
