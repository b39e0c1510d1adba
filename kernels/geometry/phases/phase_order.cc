#include "kernels/geometry/phases/phase_order.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"

namespace isocenter {
namespace {

constexpr size_t kFewestSteps = 16;
// A step back that no ripple of a signal makes, and the share of such steps that is disorder: of
// phases without any order two fifths are. Steps that agree, on the circle of phases, are in order
// whatever their length.
constexpr double kStepBack = 0.1, kMostStepsBack = 0.25, kMostAgreement = 0.5;
// Phases in reversed order fall by what they rose by; a long fall may be a rise by more than half.
constexpr double kMostFalling = 0.75, kLongestFall = 0.2;

/// 1 where all steps are one, 0 where they are anything: the length of their mean as directions.
double Agreement(const std::vector<double>& rises) {
  std::complex<double> sum = 0;
  for (const double rise : rises) sum += std::polar(1.0, 2 * std::numbers::pi * rise);
  return std::abs(sum) / static_cast<double>(rises.size());
}

}  // namespace

std::optional<std::string> PhaseOrderText(std::span<const std::optional<float>> phases) {
  std::vector<double> rises;  // -0.5 to 0.5
  for (size_t i = 1; i < phases.size(); ++i) {
    if (!phases[i - 1] || !phases[i]) continue;
    const double step = *phases[i] - *phases[i - 1];
    rises.push_back(step - std::round(step));
  }
  if (rises.size() < kFewestSteps) return std::nullopt;
  const auto share = [&](auto wrong) {
    return static_cast<double>(std::ranges::count_if(rises, wrong)) /
           static_cast<double>(rises.size());
  };
  const double back = share([](double rise) { return rise < -kStepBack; });
  const double falls = share([](double rise) { return rise < 0; });
  const double agreement = Agreement(rises), middle = MedianOf(rises);
  if (falls > kMostFalling && middle > -kLongestFall) {
    return absl::StrFormat(
        "the phases fall from frame to frame, by %.3f of a cycle, where an organ's rise: frames "
        "or phases are in reversed order, and volumes are not of the phases that they are named by",
        -middle);
  }
  if (back > kMostStepsBack && agreement < kMostAgreement) {
    return absl::StrFormat(
        "the phases of %.0f %% of the frames are more than %g of a cycle before that of the frame "
        "before, where an organ's rise: they are of other frames or of another scan, or frames are "
        "about half a cycle apart; volumes mix what moves",
        100 * back, kStepBack);
  }
  return std::nullopt;
}

}  // namespace isocenter
