#include "client/cli/reconstruct/flag_checks.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/convergence_file.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/volume_writer.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

/// The first flag of a second pass that is given; null: none is.
const char* SecondPassFlag(const ReconstructOptions& options) {
  for (const auto& [flag, given] : {std::pair("--metal", options.metal),
                                    {"--bone", options.bone},
                                    {"--scatter", options.scatter},
                                    {"--cone-beam", options.cone_beam},
                                    {"--stripes", options.stripes},
                                    {"--complete-rows", options.complete_rows}}) {
    if (given) return flag;
  }
  return nullptr;
}

/// What gating does not go with. Errors: wrong usage.
absl::Status CheckGatingFlags(const ReconstructOptions& options) {
  if (!options.gating.given()) return absl::OkStatus();
  if (const char* flag = SecondPassFlag(options)) {
    return flags::WrongUsage(
        absl::StrCat(flag, " with --phase or --gates: second passes are of all frames"));
  }
  const bool iterative = options.algorithm != "fdk";
  for (const auto& [flag, given, why] :
       {std::tuple("--motion", options.motion, "it is looked for in all frames"),
        {"--self-calibrate", options.self_calibrate, "an organ that moves looks like an arm"},
        {"--early-passes", options.iterative.settings.early_passes > 0,
         "a gate's passes begin with a volume"},
        {"--curve", !options.curve.empty(), "there is a curve of one volume only"},
        {"--deadline", options.deadline_seconds > 0, "all gates have the same passes"},
        {"--cycle-smoothing or --cycle-rounds with fdk", options.gating.together() && !iterative,
         "phases learn of each other between iterations"}}) {
    if (given) return flags::WrongUsage(absl::StrCat(flag, " with --phase or --gates: ", why));
  }
  return absl::OkStatus();
}

formats::Destination TableDestination(const ReconstructOptions& options, std::string flag,
                                      const std::string& path) {
  return {.flag = std::move(flag),
          .path = path,
          .endings = {".csv"},
          .replaces = options.overwrite,
          .inputs = {options.acquisition.input, options.acquisition.projections,
                     options.acquisition.matrices, options.reference}};
}

/// Matrices of a motion are those of filtered back-projection alone, once.
absl::Status CheckMotionFlags(const ReconstructOptions& options) {
  if (!options.poses.empty()) {
    if (!options.motion) return flags::WrongUsage("--poses without --motion, which finds them");
    ISO_RETURN_IF_ERROR(
        formats::CheckFileDestination(TableDestination(options, "--poses", options.poses)));
  }
  const char* const flag = options.motion ? SecondPassFlag(options) : nullptr;
  if (flag == nullptr) return absl::OkStatus();
  return flags::WrongUsage(
      absl::StrCat(flag, " with --motion; legal is one of them, both begin with the frames"));
}

/// Other second passes look at rows as long as the detector.
absl::Status CheckCompletedRows(const ReconstructOptions& options) {
  if (!options.complete_rows) return absl::OkStatus();
  if (options.truncation != "none") {
    return flags::WrongUsage(absl::StrCat("--complete-rows with --truncation ", options.truncation,
                                          "; legal is one of them: both say how rows go on"));
  }
  ReconstructOptions others = options;
  others.complete_rows = false;
  const char* const flag = SecondPassFlag(others);
  if (flag == nullptr) return absl::OkStatus();
  return flags::WrongUsage(absl::StrCat("--complete-rows with ", flag, "; legal is one of them"));
}

/// A detector that is elsewhere and an object that is look alike.
absl::Status CheckSelfCalibrationFlags(const ReconstructOptions& options) {
  if (!options.reference.empty() && !options.self_calibrate) {
    return flags::WrongUsage("--reference without --self-calibrate, which looks at it");
  }
  if (!options.matrices_out.empty()) {
    if (!options.self_calibrate) {
      return flags::WrongUsage("--matrices-out without --self-calibrate, which corrects them");
    }
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(
        TableDestination(options, "--matrices-out", options.matrices_out)));
  }
  if (!(options.self_calibrate && options.motion)) return absl::OkStatus();
  return flags::WrongUsage(
      "--self-calibrate with --motion; legal is one of them: a head that moves looks like an arm "
      "that does");
}

}  // namespace

formats::Destination VolumeDestination(const ReconstructOptions& options) {
  return {
      .flag = "--out",
      .path = options.gating.given() ? GateFile(options.out, options.gating, 0)
                                     : std::filesystem::path(options.out),
      .endings = formats::VolumeEndings(),
      .replaces = options.overwrite,
      .inputs = {options.acquisition.input, options.acquisition.projections, options.reference}};
}

absl::StatusOr<std::optional<recon::IterativeSettings>> CheckFlags(
    const ReconstructOptions& options) {
  ISO_RETURN_IF_ERROR(ChosenGrid(options.acquisition).status());
  ISO_RETURN_IF_ERROR(formats::CheckFileDestination(VolumeDestination(options)));
  ISO_RETURN_IF_ERROR(options.json.Check({options.acquisition.input}));
  ISO_RETURN_IF_ERROR(CheckMotionFlags(options));
  ISO_RETURN_IF_ERROR(CheckCompletedRows(options));
  ISO_RETURN_IF_ERROR(CheckSelfCalibrationFlags(options));
  const bool iterative = options.algorithm != "fdk";
  std::vector<std::string> of_passes = ChangedFlags(options.iterative);
  if (!options.curve.empty()) of_passes.emplace_back("--curve");
  if (options.deadline_seconds > 0) of_passes.emplace_back("--deadline");
  if (!iterative && !of_passes.empty()) {
    const std::vector<std::string> all = AlgorithmChoices();  // fdk is the first
    return flags::WrongUsage(
        absl::StrCat(absl::StrJoin(of_passes, ", "),
                     " without an iterative --algorithm, fdk has no passes; legal with it are ",
                     absl::StrJoin(all.begin() + 1, all.end(), ", ")));
  }
  if (!options.curve.empty()) ISO_RETURN_IF_ERROR(CheckConvergenceFile(options.curve));
  ISO_RETURN_IF_ERROR(CheckGatingFlags(options));
  if (!iterative) return std::nullopt;
  const char* const flag = options.motion ? "--motion" : SecondPassFlag(options);
  if (flag != nullptr) {
    return flags::WrongUsage(absl::StrCat(flag, " with --algorithm ", options.algorithm,
                                          "; legal is fdk, of which it is a second pass"));
  }
  ISO_ASSIGN_OR_RETURN(const recon::IterativeSettings settings,
                       ToSettings(options.iterative, options.algorithm, options.fdk.precision));
  return settings;
}

absl::Status CheckFanBeamFlags(const ReconstructOptions& o) {
  const char* const second_pass = SecondPassFlag(o);
  for (const auto& [flag, given] : {std::pair("--algorithm", o.algorithm != "fdk"),
                                    {"--truncation", o.truncation != "none"},
                                    {"--calibration", !o.calibration.empty()},
                                    {second_pass, second_pass != nullptr},
                                    {"--motion", o.motion},
                                    {"--self-calibrate", o.self_calibrate},
                                    {"--projections", !o.acquisition.projections.empty()},
                                    {"--i0", o.acquisition.i0.has_value()},
                                    {"--rings", o.rings},
                                    {"--phase or --gates", o.gating.given()},
                                    {"--find-defects", o.find_defects},
                                    {"--print-plan", o.print_plan}}) {
    if (given) return absl::InvalidArgumentError(absl::StrCat(flag, " is not for fan-beam scans"));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cli
