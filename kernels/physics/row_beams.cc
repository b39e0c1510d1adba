#include "kernels/physics/row_beams.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/physics/spectrum.h"

namespace isocenter::physics {

absl::StatusOr<RowBeams> RowBeams::WithHeel(const Tube& tube, double csi_mm,
                                            const std::vector<Material>& materials,
                                            const Detector& detector, double source_to_detector_mm,
                                            const BowTie* bow_tie) {
  ISO_RETURN_IF_ERROR(ValidateTube(tube));
  const auto take_off_deg = [&](double row) {
    const double from_middle_mm = (row - (detector.rows - 1) / 2.0) * detector.pitch_v_mm;
    return tube.anode_angle_deg +
           RadiansToDegrees(std::atan(from_middle_mm / source_to_detector_mm));
  };
  if (take_off_deg(0) < kLeastTakeOffDeg) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tube.anode_angle_deg is ", tube.anode_angle_deg, "; legal with heel on this detector is ",
        tube.anode_angle_deg - take_off_deg(0) + kLeastTakeOffDeg, " to 45"));
  }
  const auto photons_of = [](const TubeOutput& output) {
    return std::accumulate(output.photons.begin(), output.photons.end(), 0.0);
  };
  const auto beam_of = [&](const TubeOutput& output) -> absl::StatusOr<Beam> {
    ISO_ASSIGN_OR_RETURN(const Spectrum spectrum, MakeSpectrum(output.kev, output.photons));
    return Beam::Make(spectrum, csi_mm, materials);
  };
  const auto output_at = [&](double degrees) {
    TubeOutput output = TungstenOutput(tube, degrees);
    if (bow_tie != nullptr) bow_tie->FilterByMiddle(output.kev, output.photons);
    return output;
  };
  const TubeOutput middle = output_at(tube.anode_angle_deg);
  ISO_ASSIGN_OR_RETURN(const Beam reference, beam_of(middle));
  RowBeams rows;
  for (int v = 0; v < detector.rows; ++v) {
    const TubeOutput output = output_at(take_off_deg(v));
    ISO_ASSIGN_OR_RETURN(const Beam beam, beam_of(output));
    rows.beams_.push_back(beam.Beside(reference, photons_of(output) / photons_of(middle)));
  }
  return rows;
}

std::vector<double> RowBeams::Open() const {
  std::vector<double> open;
  if (beams_.size() == 1) return open;
  for (const Beam& beam : beams_) {
    open.push_back(beam.Behind(std::vector<double>(beam.materials().size())).signal);
  }
  return open;
}

}  // namespace isocenter::physics
