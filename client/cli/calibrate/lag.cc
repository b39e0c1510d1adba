// isocenter calibrate lag: what a detector keeps of a frame.
#include <memory>

#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/lag_fit.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

struct Options {
  std::string step;
  IntoSet set;
};

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.step}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  ISO_ASSIGN_OR_RETURN(SweepSource step, SweepSource::Open("--step", options.step));
  ISO_RETURN_IF_ERROR(CheckSweep(opened, step));
  std::vector<double> signals;
  ISO_RETURN_IF_ERROR(step.Read(1, [&](int, std::span<const uint16_t> counts) {
    signals.push_back(
        calibrate::MeanSignal(counts, *opened.calibration.response, opened.calibration.defects));
    return absl::OkStatus();
  }));
  ISO_ASSIGN_OR_RETURN(const calibrate::LagFit fit, calibrate::FitLag(signals));
  *opened.set.mutable_lag() = wire::ToProto(ops::Calibration{.lag = fit.terms}).lag();
  return WriteInto(std::move(opened.set), {"lag", fit.figures, PictureOf(fit, signals)},
                   options.set);
}

}  // namespace

void AddCalibrateLagCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command =
      calibrate.Subcommand("lag", "Lag, from flat frames and then dark ones: adds to a set");
  command.Footer("Example:\n  isocenter calibrate lag --step step --into room3.isocal");
  command
      .Add("--step", options->step,
           "acquisition of the empty beam that is switched off on the way, from a detector at rest")
      .Required()
      .Type("PATH");
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
