// isocenter calibrate glare: light that spreads in the detector, from a shadow.
#include <memory>

#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/glare_fit.h"
#include "kernels/calibrate/transmission.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

struct Options {
  std::string disk;
  IntoSet set;
};

/// Mean of the frames, relative to the empty beam.
absl::StatusOr<std::vector<float>> MeanFrame(SweepSource& source, const OpenedSet& opened) {
  std::vector<double> sums(opened.calibration.response->air_counts.size());
  ISO_RETURN_IF_ERROR(source.Read(1, [&](int, std::span<const uint16_t> counts) {
    const std::vector<float> frame =
        calibrate::Normalized(counts, *opened.calibration.response, opened.calibration.defects);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += frame[i];
    return absl::OkStatus();
  }));
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / source.frames()));
  return mean;
}

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.disk}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  ISO_ASSIGN_OR_RETURN(SweepSource disk, SweepSource::Open("--disk", options.disk));
  ISO_RETURN_IF_ERROR(CheckSweep(opened, disk));
  ISO_ASSIGN_OR_RETURN(const std::vector<float> frame, MeanFrame(disk, opened));
  ISO_ASSIGN_OR_RETURN(const calibrate::GlareFit fit, calibrate::FitGlare(frame, disk.detector()));
  *opened.set.mutable_glare() = wire::ToProto(ops::Calibration{.glare = fit.terms}).glare();
  return WriteInto(std::move(opened.set), {"glare", fit.figures, PictureOf(fit)}, options.set);
}

}  // namespace

void AddCalibrateGlareCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "glare", "Glare, from the shadow of a disk or an edge of lead: adds to a set");
  command.Footer("Example:\n  isocenter calibrate glare --disk disk --into room3.isocal");
  command
      .Add("--disk", options->disk,
           "acquisition of the empty beam with a disk or an edge of lead in it, close to the "
           "detector")
      .Required()
      .Type("PATH");
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
