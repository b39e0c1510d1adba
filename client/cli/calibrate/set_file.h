// The file of a calibration set that `isocenter calibrate` makes, part by part.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/flags/command.h"
#include "client/formats/png_image.h"
#include "isocenter/v1/calibration.pb.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/calibration.h"

namespace isocenter::cli {

/// Where a part goes that is added to a set.
struct IntoSet {
  std::string into, out, picture;
};
/// --into, --out and --picture.
void AddIntoFlags(flags::Command command, IntoSet& options);
/// Whether they can be written. `inputs` are not to be replaced.
absl::Status CheckInto(const IntoSet& options, std::vector<std::filesystem::path> inputs);
/// The same of a set and a picture that are written anew.
absl::Status CheckOutputs(const std::string& out, const std::string& picture,
                          std::vector<std::filesystem::path> inputs);

/// A set as a message and as what corrects.
struct OpenedSet {
  v1::CalibrationSet set;
  ops::Calibration calibration;
};
/// Errors: those of wire::ReadCalibrationFile and wire::CalibrationFromProto.
absl::StatusOr<OpenedSet> ReadSet(const std::string& flag, const std::string& path);
/// INVALID_ARGUMENT unless the set has offsets and gains, and they are of this detector.
absl::Status CheckResponse(const OpenedSet& opened, const Detector& detector);

/// Of a part that was just measured.
struct Report {
  std::string part;  // "detector": what figures' names begin with
  calibrate::Figures figures;
  formats::GrayImage picture;
};

/// Replaces the part's figures and the set's picture, checks the set, prints the figures, and
/// writes the set and, where `picture` names a file, the picture. Errors: INVALID_ARGUMENT (a set
/// that is not legal, a picture above wire::kMostPictureBytes), those of writing files.
absl::Status WriteSet(v1::CalibrationSet set, const Report& report, const std::string& out,
                      const std::string& picture);

}  // namespace isocenter::cli
