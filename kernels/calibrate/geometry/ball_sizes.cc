#include "kernels/calibrate/geometry/ball_sizes.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr int kLeastFrames = 5;
// Balls of the table that are alike, and how many make a reference. Against balls of other sizes
// hardening and lost photons count as well.
constexpr double kAlike = 0.1;
constexpr size_t kLeastAlike = 5;
constexpr double kMostDifference = 0.15, kMostDifferenceToOthers = 0.3;

}  // namespace

void NameWrongSizes(const BeadTable& table, const std::vector<SweepFrame>& frames,
                    std::vector<BallReport>& balls) {
  std::vector<double> sizes(table.size(), 0);
  std::vector<double> known;
  for (size_t i = 0; i < table.size(); ++i) {
    std::vector<double> seen;
    for (const SweepFrame& frame : frames) {
      if (frame.sizes[i] > 0) seen.push_back(frame.sizes[i]);
    }
    if (seen.size() < kLeastFrames) continue;
    sizes[i] = Median(std::move(seen));
    known.push_back(sizes[i]);
  }
  if (known.empty()) return;
  const double of_all = Median(known);
  for (size_t i = 0; i < table.size(); ++i) {
    if (sizes[i] == 0) continue;
    std::vector<double> alike;
    for (size_t j = 0; j < table.size(); ++j) {
      const double ratio = table[j].diameter_mm / table[i].diameter_mm;
      if (j != i && sizes[j] > 0 && std::abs(ratio - 1) <= kAlike) alike.push_back(sizes[j]);
    }
    const bool enough = alike.size() >= kLeastAlike;
    const double ratio = sizes[i] / (enough ? Median(std::move(alike)) : of_all);
    balls[i].diameter_mm = ratio * table[i].diameter_mm;
    if (std::abs(ratio - 1) <= (enough ? kMostDifference : kMostDifferenceToOthers)) continue;
    balls[i].why = absl::StrFormat("has a shadow of about %.2f mm across; the table has %.2f mm",
                                   balls[i].diameter_mm, table[i].diameter_mm);
  }
}

}  // namespace isocenter::calibrate
