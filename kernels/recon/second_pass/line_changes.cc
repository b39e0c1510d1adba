#include "kernels/recon/second_pass/line_changes.h"

#include <cmath>

namespace isocenter::recon {

void LineChanges::Add(std::span<const float> before, std::span<const float> after) {
  for (size_t i = 0; i < before.size(); ++i) {
    const double fall = static_cast<double>(before[i]) - after[i];
    if (fall == 0) continue;
    ++changed_;
    falls_ += fall;
    squares_ += fall * fall;
  }
  rays_ += static_cast<int64_t>(before.size());
}

double LineChanges::changed_share() const {
  return rays_ > 0 ? static_cast<double>(changed_) / static_cast<double>(rays_) : 0;
}

double LineChanges::mean_fall() const {
  return changed_ > 0 ? falls_ / static_cast<double>(changed_) : 0;
}

double LineChanges::rms() const {
  return rays_ > 0 ? std::sqrt(squares_ / static_cast<double>(rays_)) : 0;
}

}  // namespace isocenter::recon
