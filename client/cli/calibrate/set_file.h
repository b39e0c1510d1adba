// The file of a calibration set that `isocenter calibrate` makes, part by part.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/calibrate/set_lock.h"
#include "client/cli/calibrate/sweep_source.h"
#include "client/cli/output/json_output.h"
#include "client/flags/command.h"
#include "client/formats/png_image.h"
#include "isocenter/v1/calibration.pb.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/calibration.h"

namespace isocenter::cli {

/// Where a set and what is told of it go.
struct SetOutput {
  std::string out, picture;
  bool overwrite = false;  // a set that is there, but for that of --into
  JsonOutput json;
};
/// --overwrite, --picture and --json.
void AddReportFlags(flags::Command command, SetOutput& output);
/// Whether they can be written. `inputs` are not to be replaced.
absl::Status CheckOutputs(const SetOutput& output, std::vector<std::filesystem::path> inputs);

/// Where a part goes that is added to a set.
struct IntoSet {
  std::string into;
  std::string name;  // of the set that is written; empty: as it is called
  SetOutput to;      // without `out`: into the same file
};
/// --into, --name, --out, --overwrite, --picture and --json.
void AddIntoFlags(flags::Command command, IntoSet& options);
/// As CheckOutputs.
absl::Status CheckInto(const IntoSet& options, std::vector<std::filesystem::path> inputs);

/// A set as a message and as what corrects.
struct OpenedSet {
  v1::CalibrationSet set;
  ops::Calibration calibration;
  SetLock lock;  // until this has gone
};
/// The set of --into. Errors: those of wire::ReadCalibrationFile and wire::CalibrationFromProto;
/// SetLock::Take; INVALID_ARGUMENT (--name).
absl::StatusOr<OpenedSet> OpenInto(const IntoSet& options);
/// INVALID_ARGUMENT unless the set has offsets and gains, is of the sweep's detector, and as far as
/// it tells, of its station, mode and tube voltage; what it does not tell is warned of on stderr.
absl::Status CheckSweep(const OpenedSet& opened, const SweepSource& sweep);
/// Of a set that begins: INVALID_ARGUMENT unless `label`, which `flags` made, is of what the sweep
/// tells of itself; what it does not tell is warned of on stderr.
absl::Status CheckLabel(const v1::CalibrationSet& label, const SweepSource& sweep,
                        const std::string& flags);

/// The part of a verification's figures.
inline constexpr char kVerifyPart[] = "verify";

/// Of a part that was just measured.
struct Report {
  std::string part;  // "detector": what figures' names begin with
  calibrate::Figures figures;
  formats::GrayImage picture;
  std::vector<std::string> warnings = {};
};

/// Replaces the part's figures and the set's picture, checks the set, writes it and, where
/// `picture` names a file, the picture, and reports the figures and warnings. `details`: further
/// members of the JSON. Errors: INVALID_ARGUMENT (a set that is not legal, a picture above
/// wire::kMostPictureBytes), those of writing files.
absl::Status WriteSet(v1::CalibrationSet set, const Report& report, const SetOutput& output,
                      const nlohmann::ordered_json& details = nlohmann::ordered_json::object());
/// The same of a part that is added to a set, with a warning of parts that were measured with
/// others than the set has now.
absl::Status WriteInto(v1::CalibrationSet set, Report report, IntoSet into);

/// Name, value and unit of each, as a table and as JSON.
std::string FigureTable(const calibrate::Figures& figures);
nlohmann::ordered_json ToJson(const calibrate::Figures& figures);

}  // namespace isocenter::cli
