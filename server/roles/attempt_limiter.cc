#include "server/roles/attempt_limiter.h"

#include <algorithm>

namespace isocenter::roles {

absl::Duration AttemptLimiter::Wait(const std::string& address, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto found = failures_.find(address);
  if (found == failures_.end()) return absl::ZeroDuration();
  std::deque<absl::Time>& times = found->second;
  while (!times.empty() && now - times.front() >= kWithin) times.pop_front();
  if (times.empty())
    failures_.erase(found);
  else if (times.size() >= kFailures)
    return kWithin - (now - times.front());
  return absl::ZeroDuration();
}

void AttemptLimiter::OnFailure(const std::string& address, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  std::deque<absl::Time>& times = failures_[address];
  times.push_back(now);
  if (times.size() > kFailures) times.pop_front();
  if (failures_.size() <= kAddresses) return;
  failures_.erase(std::ranges::min_element(failures_, {},
                                           [](const auto& entry) { return entry.second.back(); }));
}

}  // namespace isocenter::roles
