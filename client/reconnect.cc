#include "client/reconnect.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace isocenter::client {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr int kMeantWhenRepeated = 3;

bool TransportMayHaveSaidIt(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kCancelled ||
         code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kDataLoss;
}

}  // namespace

Reconnect::Reconnect(absl::Duration timeout)
    : timeout_(timeout), next_pause_(kFirstPause), random_(std::random_device()()) {}

absl::Status Reconnect::MayTryAgain(const absl::Status& status, bool moved_on, absl::Time now) {
  if (timeout_ <= absl::ZeroDuration() || !TransportMayHaveSaidIt(status.code())) return status;
  if (moved_on || outage_began_ == absl::InfiniteFuture()) {
    outage_began_ = now;
    next_pause_ = kFirstPause;
    repeated_ = 0;
  }
  repeated_ = status.code() == absl::StatusCode::kUnavailable ? 0 : repeated_ + 1;
  if (repeated_ >= kMeantWhenRepeated) return status;
  if (now - outage_began_ < timeout_) return absl::OkStatus();
  return absl::Status(
      status.code(), absl::StrCat("no new connection within ", absl::FormatDuration(timeout_), ": ",
                                  status.message()));
}

absl::Duration Reconnect::Pause() {
  const absl::Duration pause = next_pause_ * std::uniform_real_distribution(0.5, 1.0)(random_);
  next_pause_ = std::min(2 * next_pause_, kLongestPause);
  return pause;
}

}  // namespace isocenter::client
