// isocenter calibrate air: the empty beam from where the arm goes.
#include <memory>

#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/air_fit.h"
#include "kernels/calibrate/transmission.h"
#include "kernels/recon/air_places.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

struct Options {
  std::string sweep;
  IntoSet set;
};

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.sweep}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  ISO_ASSIGN_OR_RETURN(SweepSource sweep, SweepSource::Open("--sweep", options.sweep));
  ISO_RETURN_IF_ERROR(CheckSweep(opened, sweep));
  calibrate::AirFrames frames(sweep.detector());
  ISO_RETURN_IF_ERROR(sweep.Read(1, [&](int frame, std::span<const uint16_t> counts) {
    const absl::StatusOr<double> angle = recon::SourceAngle(sweep.trajectory()[frame]);
    if (!angle.ok()) return angle.status();
    return frames.Add(
        calibrate::Normalized(counts, *opened.calibration.response, opened.calibration.defects),
        *angle);
  }));
  ISO_ASSIGN_OR_RETURN(const calibrate::AirSweepFit fit, frames.Fit());
  *opened.set.mutable_air_sweep() =
      wire::ToProto(ops::Calibration{.air_sweep = fit.sweep}).air_sweep();
  return WriteInto(std::move(opened.set), {"air", fit.figures, PictureOf(fit, sweep.detector())},
                   options.set);
}

}  // namespace

void AddCalibrateAirCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "air", "The empty beam at each angle, from a sweep without an object: adds to a set");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate air --sweep empty --into room3.isocal\n"
      "Scans that go where the sweep did not are refused with such a set.");
  command
      .Add("--sweep", options->sweep,
           "acquisition of the empty beam on the arm's way, with the flat frames' dose and filter")
      .Required()
      .Type("PATH");
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
