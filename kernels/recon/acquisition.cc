#include "kernels/recon/acquisition.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/air_places.h"

namespace isocenter::recon {
namespace {

absl::Status OutOfRange(absl::string_view field, double value, absl::string_view legal) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; legal is ", legal));
}

absl::Status ValidateGating(const Acquisition& acquisition) {
  if (acquisition.gated == nullptr) return absl::OkStatus();
  const ChosenViews& chosen = acquisition.gated->chosen;
  const size_t views = acquisition.trajectory.size();
  if (chosen.views.size() != views || chosen.weight.size() != views) {
    return absl::InvalidArgumentError(absl::StrCat("of the gated scan ", chosen.views.size(),
                                                   " views are chosen; legal is as many as the ",
                                                   views, " frames"));
  }
  const auto all = static_cast<int>(acquisition.gated->whole.size());
  for (size_t i = 0; i < views; ++i) {
    const int view = chosen.views[i], after = i == 0 ? 0 : chosen.views[i - 1] + 1;
    if (view < after || view >= all) {
      return OutOfRange("the gated scan's chosen view", view,
                        absl::StrCat(after, " to ", all - 1, ", in ascending order"));
    }
    if (!(chosen.weight[i] > 0 && chosen.weight[i] <= 1)) {
      return OutOfRange("the weight of a chosen view", chosen.weight[i], "more than 0, at most 1");
    }
  }
  if (acquisition.pixel_type == PixelType::kFloat32LineIntegrals) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the chosen frames of a gated scan are counts, whose corrections hang on the frames between "
      "them; legal are line integrals");
}

absl::Status ValidateCalibration(const Acquisition& acquisition) {
  if (acquisition.calibration == nullptr) return absl::OkStatus();
  const ops::Calibration& calibration = *acquisition.calibration;
  if (acquisition.pixel_type != PixelType::kUint16Counts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "calibration '", calibration.name, "' is for counts; the frames are line integrals"));
  }
  const Detector &has = calibration.detector, &needs = acquisition.detector;
  if (has == needs) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "calibration '", calibration.name, "' is of a detector of ", has.columns, " x ", has.rows,
      " pixels of ", has.pitch_u_mm, " x ", has.pitch_v_mm, " mm; the acquisition's has ",
      needs.columns, " x ", needs.rows, " of ", needs.pitch_u_mm, " x ", needs.pitch_v_mm, " mm"));
}

}  // namespace

Acquisition AsLineIntegrals(Acquisition acquisition) {
  acquisition.pixel_type = PixelType::kFloat32LineIntegrals;
  if (acquisition.calibration) acquisition.corrected_by = std::move(acquisition.calibration);
  acquisition.calibration = nullptr;
  return acquisition;
}

absl::Status ValidateAcquisition(const Acquisition& acquisition) {
  const Detector& d = acquisition.detector;
  if (d.columns < 1 || d.columns > 8192)
    return OutOfRange("detector.columns", d.columns, "1 to 8192");
  if (d.rows < 1 || d.rows > 8192) return OutOfRange("detector.rows", d.rows, "1 to 8192");
  if (!(d.pitch_u_mm > 0 && d.pitch_u_mm <= 10)) {
    return OutOfRange("detector.pitch_u_mm", d.pitch_u_mm, "more than 0, at most 10");
  }
  if (!(d.pitch_v_mm > 0 && d.pitch_v_mm <= 10)) {
    return OutOfRange("detector.pitch_v_mm", d.pitch_v_mm, "more than 0, at most 10");
  }
  if (acquisition.pixel_type == PixelType::kUint16Counts &&
      !(acquisition.i0_counts >= 1 && acquisition.i0_counts <= 65535)) {
    return OutOfRange("i0_counts", acquisition.i0_counts, "1 to 65535");
  }
  ISO_RETURN_IF_ERROR(ValidateCalibration(acquisition));
  ISO_RETURN_IF_ERROR(ValidateGating(acquisition));
  const auto views = acquisition.trajectory.size();
  if (views < 1 || views > 10000) return OutOfRange("frame_count", views, "1 to 10000");
  for (size_t view = 0; view < views; ++view) {
    const auto normalized = NormalizeMatrix(acquisition.trajectory[view]);
    if (!normalized.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("matrix of frame ", view, ": ", normalized.status().message()));
    }
    if (std::abs(acquisition.trajectory[view](2, 3) - 1) > 1e-9) {
      return absl::InvalidArgumentError(
          absl::StrCat("matrix of frame ", view, " has w = ", acquisition.trajectory[view](2, 3),
                       " at the isocentre; it must be normalised to 1"));
    }
  }
  if (acquisition.calibration == nullptr) return absl::OkStatus();
  return AirPlaces(acquisition.calibration->air_sweep, acquisition.trajectory).status();
}

}  // namespace isocenter::recon
