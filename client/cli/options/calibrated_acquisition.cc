#include "client/cli/options/calibrated_acquisition.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/options/set_fit.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/calibration_scope.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"
#include "proto/wire/plausible.h"

namespace isocenter::cli {
namespace {

/// Errors: FAILED_PRECONDITION.
absl::Status CheckFit(const v1::CalibrationSet& set, const v1::AcquisitionHeader& header,
                      std::vector<std::string>& warnings) {
  const SetFit fit = FitOf(set, header);
  if (!fit.misfits.empty()) {
    return absl::FailedPreconditionError(ops::MisfitText(set.name(), fit.misfits));
  }
  if (!fit.untold.empty()) warnings.push_back(UntoldText(set.name(), fit));
  const ops::Validity validity{wire::TimeFromProto(set.valid_from()),
                               wire::TimeFromProto(set.valid_until())};
  if (!validity.Has(absl::Now())) {
    warnings.push_back(absl::StrCat(ops::NotValidText(set.name(), validity), ops::kUsedAllTheSame));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<recon::Acquisition> CalibratedAcquisition(const v1::AcquisitionHeader& header,
                                                         const std::string& calibration,
                                                         std::vector<std::string>& warnings) {
  ISO_ASSIGN_OR_RETURN(recon::Acquisition acquisition, wire::AcquisitionFromProto(header));
  for (std::string& doubt : wire::ImplausibleFields(header, acquisition.trajectory, absl::Now())) {
    warnings.push_back(std::move(doubt));
  }
  if (calibration.empty()) return acquisition;
  ISO_ASSIGN_OR_RETURN(v1::CalibrationSet set,
                       wire::ReadCalibrationFile("--calibration", calibration));
  ISO_RETURN_IF_ERROR(wire::CheckCalibrationLabel(set));
  if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
    ISO_RETURN_IF_ERROR(CheckFit(set, header, warnings));
  }
  ISO_ASSIGN_OR_RETURN(ops::Calibration known, wire::CalibrationFromProto(std::move(set)));
  acquisition.calibration = std::make_shared<const ops::Calibration>(std::move(known));
  return acquisition;
}

}  // namespace isocenter::cli
