// isocenter calibrate bone: what bone hardens of a beam, beyond what water does.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/bone_fit.h"
#include "kernels/calibrate/bone_step.h"
#include "kernels/calibrate/transmission.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

constexpr uint64_t kMostTableBytes = 64 << 10;

struct Options {
  std::string steps;
  double equivalent_mm = 1;
  IntoSet set;
};

/// What a path in a table means to who is in another directory.
std::string BesideTable(const std::string& table, const std::string& path) {
  return (std::filesystem::path(table).parent_path() / path).string();
}

absl::StatusOr<std::vector<calibrate::BoneStepFile>> ReadTable(const std::string& table) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile("--steps", table, kMostTableBytes));
  auto steps = calibrate::ParseBoneSteps(text);
  if (!steps.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(table, ": ", steps.status().message()));
  }
  for (calibrate::BoneStepFile& step : *steps) step.path = BesideTable(table, step.path);
  return steps;
}

absl::StatusOr<double> ReadStep(const std::string& path, const OpenedSet& opened) {
  ISO_ASSIGN_OR_RETURN(SweepSource sweep, SweepSource::Open("--steps", path));
  ISO_RETURN_IF_ERROR(CheckSweep(opened, sweep));
  calibrate::BoneStepMean mean;
  ISO_RETURN_IF_ERROR(sweep.Read(1, [&](int frame, std::span<const uint16_t> counts) {
    const absl::StatusOr<std::vector<float>> transmission = calibrate::Transmission(
        counts, *opened.calibration.response, opened.calibration.defects, sweep.detector());
    if (!transmission.ok()) return transmission.status();
    return mean.Add(*transmission, sweep.trajectory()[frame], sweep.detector());
  }));
  const absl::StatusOr<double> line_integral = mean.LineIntegral();
  if (line_integral.ok()) return line_integral;
  return absl::Status(line_integral.status().code(),
                      absl::StrCat(path, ": ", line_integral.status().message()));
}

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.steps}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  if (opened.calibration.mu_water_per_mm == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the set ", opened.set.name(),
                     " has no water polynomial; legal is one that `isocenter calibrate "
                     "beam-hardening` was run on"));
  }
  ISO_ASSIGN_OR_RETURN(const auto files, ReadTable(options.steps));
  std::vector<calibrate::BoneStep> steps;
  for (const calibrate::BoneStepFile& file : files) {
    ISO_ASSIGN_OR_RETURN(const double line_integral, ReadStep(file.path, opened));
    steps.push_back({file.water_mm, options.equivalent_mm * file.bone_mm, line_integral});
  }
  ISO_ASSIGN_OR_RETURN(
      const calibrate::BoneFit fit,
      calibrate::FitBone(steps, opened.calibration.water, opened.calibration.mu_water_per_mm));
  *opened.set.mutable_bone() = wire::ToProto(ops::Calibration{.bone = fit.table}).bone();
  return WriteInto(std::move(opened.set), {"bone", fit.figures, PictureOf(fit, steps)},
                   options.set);
}

}  // namespace

void AddCalibrateBoneCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "bone", "Bone table, from steps of bone behind steps of water: adds to a set");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate bone --steps steps.txt --into room3.isocal\n"
      "The table of steps has a line for each: its acquisition, mm of water, mm of bone. Slabs\n"
      "stand across the middle of a beam that does not turn, with air beside them.\n"
      "  # acquisition  water  bone\n"
      "  w100           100    0\n"
      "  w100_b10       100    10\n"
      "Paths are beside the table. Of steps of another material, as aluminium, --equivalent-mm\n"
      "says how much bone stands for a millimetre of it.");
  command.Add("--steps", options->steps, "table of the steps").Required().Type("FILE");
  command
      .Add("--equivalent-mm", options->equivalent_mm,
           "millimetres of bone that a millimetre of the steps' material stands for")
      .ShowDefault()
      .Range(0.1, 10.0);
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
