#include "server/dicom/sending/backoff.h"

#include <algorithm>
#include <utility>

namespace isocenter::dicom {

Backoff::Backoff(absl::Duration first, absl::Duration longest, std::function<double()> random)
    : first_(first), longest_(longest), random_(std::move(random)) {}

absl::Duration Backoff::Fail() {
  absl::Duration delay = first_;
  for (int i = 0; i < failures_ && delay < longest_; ++i) delay *= 2;
  ++failures_;
  return std::min(delay, longest_) * (0.5 + 0.5 * random_());
}

}  // namespace isocenter::dicom
