#include "client/opening.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_format.h"
#include "client/rpc_status.h"

namespace isocenter::client {
namespace {

constexpr absl::Duration kToStand = absl::Seconds(3);  // for a connection

}  // namespace

std::string NewRequestId() {
  std::random_device random;
  return absl::StrFormat("stream-%08x%08x%08x%08x", random(), random(), random(), random());
}

absl::Status Opening::MayRepeat(const absl::Status& status, absl::Time now) {
  const Break how = BreakOf(status);
  if (!absl::IsUnavailable(status) || how == Break::kConnection) stood_ = true;
  if (stood_) return reconnect_.MayTryAgain(status, /*moved_on=*/false, now);
  if (how != Break::kHandshake || timeout_ <= absl::ZeroDuration()) return status;
  first_cut_ = std::min(first_cut_, now);
  return Left(now) > absl::ZeroDuration() ? absl::OkStatus() : status;
}

absl::Duration Opening::Left(absl::Time now) const {
  return stood_ ? reconnect_.Left(now) : first_cut_ + std::min(kToStand, timeout_) - now;
}

}  // namespace isocenter::client
