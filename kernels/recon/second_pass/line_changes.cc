#include "kernels/recon/second_pass/line_changes.h"

#include <cmath>
#include <vector>

#include "kernels/base/status_macros.h"

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

absl::Status CountChanges(HostView3<float> lines, int first_view, int stride,
                          const std::function<absl::Status()>& correct, LineChanges& changes) {
  const auto for_asked = [&](const auto& work) {
    for (int64_t view = 0; view < lines.shape().slow; ++view) {
      if ((first_view + view) % stride == 0) work(lines.slices(view, 1).span());
    }
  };
  std::vector<float> kept;
  for_asked(
      [&](std::span<const float> asked) { kept.insert(kept.end(), asked.begin(), asked.end()); });
  ISO_RETURN_IF_ERROR(correct());
  std::span<const float> before = kept;
  for_asked([&](std::span<const float> asked) {
    changes.Add(before.first(asked.size()), asked);
    before = before.subspan(asked.size());
  });
  return absl::OkStatus();
}

}  // namespace isocenter::recon
