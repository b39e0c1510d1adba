#include "client/cli/output/self_calibration_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/units.h"

namespace isocenter::cli {

std::string SelfCalibrationSummary(const recon::SelfCalibration& found) {
  const std::string entropies =
      absl::StrFormat("the entropy of the volume's values is %.4f, before %.4f",
                      found.entropy_after, found.entropy_before);
  std::string text =
      absl::StrCat("self-calibration: nothing found that makes the volume clearly sharper (",
                   entropies, "); the matrices are as they were");
  if (found.found()) {
    text = absl::StrFormat(
        "self-calibration: the detector was %.2f mm along u and %.3f deg of roll off", found.u_mm,
        RadiansToDegrees(found.roll_rad));
    if (found.smooth) {
      absl::StrAppendFormat(&text, ", and in its course up to %.2f mm more (rms %.2f mm)",
                            found.largest_smooth_mm(), found.smooth_rms_mm());
    }
    absl::StrAppend(&text, "; ", entropies);
  }
  if (!found.not_judged.empty()) {
    absl::StrAppend(&text, "; nothing was looked for: ", found.not_judged);
  }
  return text;
}

nlohmann::ordered_json SelfCalibrationJson(const recon::SelfCalibration& found) {
  nlohmann::ordered_json json{{"found", found.found()},
                              {"constant", found.constant},
                              {"smooth", found.smooth},
                              {"u_mm", found.u_mm},
                              {"roll_deg", RadiansToDegrees(found.roll_rad)},
                              {"smooth_rms_mm", found.smooth_rms_mm()},
                              {"largest_smooth_mm", found.largest_smooth_mm()},
                              {"entropy_before", found.entropy_before},
                              {"entropy_after", found.entropy_after}};
  if (found.not_judged.empty()) {
    json["planes_before"] = found.planes_before;
    json["planes_after"] = found.planes_after;
  } else {
    json["not_judged"] = found.not_judged;
  }
  if (!found.found()) return json;
  for (const recon::DetectorMove& move : found.moves) {
    json["moves"].push_back({{"u_mm", move.u_mm}, {"v_mm", move.v_mm}});
  }
  return json;
}

}  // namespace isocenter::cli
