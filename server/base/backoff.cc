#include "server/base/backoff.h"

#include <algorithm>
#include <utility>

namespace isocenter {

Backoff::Backoff(absl::Duration first, absl::Duration longest, std::function<double()> random)
    : first_(first), longest_(longest), random_(std::move(random)) {}

absl::Duration Backoff::After(int64_t failures) const {
  absl::Duration delay = first_;
  for (int64_t i = 1; i < failures && delay < longest_; ++i) delay *= 2;
  delay = std::min(delay, longest_);
  return random_ ? delay * (0.5 + 0.5 * random_()) : delay;
}

}  // namespace isocenter
