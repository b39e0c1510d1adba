#include "kernels/calibrate/geometry/pose_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

// A parabola through three frames, continued by half a step beyond the last of them.
constexpr double kContinued[] = {1.875, -1.25, 0.375};
constexpr int kReach = 3;
constexpr size_t kMostJumps = 3;

using Shadows = std::vector<Eigen::Vector2d>;

double RmsApart(const Shadows& a, const Shadows& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]).squaredNorm();
  return std::sqrt(squares / static_cast<double>(a.size()));
}

// From `frame` on in steps of `way` (1 or -1).
Shadows Continued(const std::vector<Shadows>& frames, int frame, int way) {
  Shadows sum(frames[frame].size(), Eigen::Vector2d::Zero());
  for (int n = 0; n < kReach; ++n) {
    const Shadows& one = frames[frame + n * way];
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += kContinued[n] * one[i];
  }
  return sum;
}

// Frames that are followed by the same view.
std::vector<int> Repeated(const std::vector<Shadows>& frames) {
  std::vector<double> steps;
  for (size_t k = 0; k + 1 < frames.size(); ++k) {
    steps.push_back(RmsApart(frames[k], frames[k + 1]));
  }
  const double median = Median(steps);
  std::vector<int> repeated;
  for (size_t k = 0; k < steps.size(); ++k) {
    double beside = median;
    if (k > 0) beside = std::min(beside, steps[k - 1]);
    if (k + 1 < steps.size()) beside = std::min(beside, steps[k + 1]);
    if (steps[k] < kSameViewShare * beside) repeated.push_back(static_cast<int>(k));
  }
  return repeated;
}

bool Near(const std::vector<int>& frames, int frame) {
  return std::ranges::any_of(frames, [&](int each) { return std::abs(each - frame) <= kReach; });
}

}  // namespace

std::vector<std::string> PoseStepWarnings(const BeadTable& table,
                                          std::span<const Pinhole> cameras) {
  std::vector<Shadows> frames;
  for (const Pinhole& camera : cameras) {
    Shadows& shadows = frames.emplace_back();
    for (const Bead& bead : table) shadows.push_back(camera.Project(bead.center));
  }
  std::vector<std::string> warnings;
  const std::vector<int> repeated = Repeated(frames);
  for (const int k : repeated) {
    warnings.push_back(absl::StrFormat(
        "frames %d and %d show the same view, where the arm moves before and after them: was a "
        "frame stored twice, and are later ones lost?",
        k, k + 1));
  }
  const int count = static_cast<int>(frames.size());
  std::vector<double> misses;
  std::vector<int> order;  // of misses[i], between frames i + kReach - 1 and i + kReach
  for (int k = kReach - 1; k + kReach < count; ++k) {
    order.push_back(static_cast<int>(misses.size()));
    misses.push_back(RmsApart(Continued(frames, k, -1), Continued(frames, k + 1, 1)));
  }
  const double typical = Median(misses);
  std::ranges::sort(order, std::ranges::greater(), [&](int i) { return misses[i]; });
  std::vector<int> told = repeated;
  for (const int i : order) {
    if (misses[i] <= std::max(kLeastJumpPx, kJumpOfMedian * typical)) break;
    const int k = i + kReach - 1;
    if (Near(told, k)) continue;
    if (told.size() == repeated.size() + kMostJumps) break;
    told.push_back(k);
    warnings.push_back(absl::StrFormat(
        "between frames %d and %d the balls' shadows jump by %.1f px from where the frames before "
        "have them (typical of this sweep: %.2f): was the detector or the phantom knocked, or are "
        "frames missing?",
        k, k + 1, misses[i], typical));
  }
  return warnings;
}

}  // namespace isocenter::calibrate
