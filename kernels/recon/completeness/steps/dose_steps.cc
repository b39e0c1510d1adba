#include "kernels/recon/completeness/steps/dose_steps.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/ops/corrections.h"

namespace isocenter::recon {

DoseSteps::DoseSteps(const Acquisition& acquisition)
    : acquisition_(acquisition), levels_(acquisition) {}

void DoseSteps::Add(int view, std::span<const FrameRow> rows, double dose) {
  const bool strips = acquisition_.calibration != nullptr &&
                      acquisition_.calibration->air.columns >= ops::kAirTile && !(dose > 0);
  if (!strips) levels_.Add(view, rows, dose);
}

std::optional<std::string> DoseSteps::Text() const {
  const std::vector<PieceLevels::Run> runs = levels_.Runs([](int, int) { return true; });
  const std::vector<LevelStep> steps = StepsOf(runs, kMostStep);
  if (steps.empty()) return std::nullopt;
  const LevelStep largest = LargestOf(steps);
  const bool is_line = acquisition_.pixel_type == PixelType::kFloat32LineIntegrals;
  return absl::StrFormat(
      "all line integrals %s by %.3f at once at frame %d%s, as where the dose is %.1f %% %s, and "
      "nothing takes that off; legal is within %g, and any dose of %s",
      largest.line > 0 ? "rise" : "fall", std::abs(largest.line), largest.view,
      steps.size() == 1 ? "" : absl::StrFormat(" (the largest of %d such steps)", steps.size()),
      100 * std::abs(std::expm1(-largest.line)), largest.line > 0 ? "lower" : "higher", kMostStep,
      is_line ? "frames that were divided by it before the logarithm"
              : "frames that tell it (Frame.dose), or with a calibration that reads it from air");
}

}  // namespace isocenter::recon
