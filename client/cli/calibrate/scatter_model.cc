// isocenter calibrate scatter-model: how much of the scatter that is computed from a volume a
// detector sees.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/output/warnings.h"
#include "client/formats/acquisition_input.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/scatter/scatter_model_fit.h"
#include "kernels/calibrate/transmission.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/recon/completeness/whole_scan.h"
#include "kernels/recon/second_pass/compute_scatter.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

struct Options {
  std::string with, without;
  IntoSet set;
};

/// Cells that cover the detector.
struct CellShape {
  int columns = 0, rows = 0;
};

/// Means of a frame's numbers, without what is not a number.
std::vector<double> CellMeans(std::span<const float> frame, const Detector& detector,
                              const CellShape& shape) {
  std::vector<double> sums(size_t(shape.columns) * shape.rows), counts(sums.size());
  for (int v = 0; v < detector.rows; ++v) {
    for (int u = 0; u < detector.columns; ++u) {
      const float value = frame[size_t(v) * detector.columns + u];
      if (value != value) continue;
      const size_t cell = int64_t{v} * shape.rows / detector.rows * shape.columns +
                          int64_t{u} * shape.columns / detector.columns;
      sums[cell] += value;
      counts[cell] += 1;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = counts[i] > 0 ? sums[i] / counts[i] : std::numeric_limits<double>::quiet_NaN();
  }
  return sums;
}

/// Primary and scatter of the views that the model was computed for.
absl::Status ReadPair(const OpenedSet& opened, SweepSource& with, SweepSource& without,
                      const recon::ScatterPlan& plan, std::vector<calibrate::ModelledView>& views) {
  const CellShape shape{plan.columns, plan.rows};
  const auto at = [&](int frame) {
    return std::find(plan.sampled.begin(), plan.sampled.end(), frame) - plan.sampled.begin();
  };
  const auto used = static_cast<std::ptrdiff_t>(plan.sampled.size());
  const ops::Calibration& known = opened.calibration;
  std::vector<double> doses(plan.sampled.size(), 1);
  ISO_RETURN_IF_ERROR(without.Read(1, [&](int frame, std::span<const uint16_t> counts) {
    const auto k = at(frame);
    if (k == used) return absl::OkStatus();
    const auto transmission =
        calibrate::Transmission(counts, *known.response, known.defects, known.detector, &doses[k]);
    if (!transmission.ok()) return transmission.status();
    views[k].primary = CellMeans(*transmission, known.detector, shape);
    return absl::OkStatus();
  }));
  return with.Read(1, [&](int frame, std::span<const uint16_t> counts) {
    const auto k = at(frame);
    if (k == used) return absl::OkStatus();
    const std::vector<float> normalized =
        calibrate::Normalized(counts, *known.response, known.defects);
    views[k].scatter = CellMeans(normalized, known.detector, shape);
    for (size_t i = 0; i < views[k].scatter.size(); ++i) {
      views[k].scatter[i] = views[k].scatter[i] / doses[k] - views[k].primary[i];
    }
    return absl::OkStatus();
  });
}

/// The plan of the scan without scatter, as if the model's scale were 1.
absl::StatusOr<recon::SecondPassPlan> PlanOf(const OpenedSet& opened,
                                             const v1::AcquisitionHeader& header,
                                             ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(recon::Acquisition acquisition, wire::AcquisitionFromProto(header));
  auto known = std::make_shared<ops::Calibration>(opened.calibration);
  known->scatter_model = ops::ScatterModel{.scale = 1};
  known->bone.reset();
  acquisition.calibration = std::move(known);
  constexpr int kSize = 32;  // nobody looks at this volume
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid,
                       AutoGrid(acquisition.trajectory, acquisition.detector, kSize));
  const ops::Device* const devices[] = {&device};
  return recon::MakeSecondPassPlan(acquisition, grid, {}, {.scatter = true}, Backends(), devices);
}

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.with, options.without}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  ISO_ASSIGN_OR_RETURN(SweepSource with, SweepSource::Open("--with", options.with));
  ISO_ASSIGN_OR_RETURN(SweepSource without, SweepSource::Open("--without", options.without));
  ISO_RETURN_IF_ERROR(CheckSweep(opened, with));
  ISO_RETURN_IF_ERROR(CheckSweep(opened, without));
  if (with.frames() != without.frames()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--with has ", with.frames(), " frames and --without ", without.frames(),
                     "; legal are scans of one object from the same directions"));
  }
  ISO_ASSIGN_OR_RETURN(const auto source,
                       formats::OpenAcquisition(options.without, {}, std::nullopt));
  ISO_ASSIGN_OR_RETURN(const auto device, Backends().OpenDevice("cpu", {}));
  ISO_ASSIGN_OR_RETURN(const recon::SecondPassPlan plan, PlanOf(opened, source->header(), *device));
  std::vector<calibrate::ModelledView> views(plan.scatter->sampled.size());
  {
    ISO_ASSIGN_OR_RETURN(const LocalFrames frames, LocalFrames::Read(*source));
    if (const auto constant = recon::ConstantFramesText(frames.view())) {
      PrintWarnings(std::span(&*constant, 1));
    }
    ops::Device* const devices[] = {device.get()};
    ISO_ASSIGN_OR_RETURN(recon::ComputedScatter computed,
                         recon::ComputeScatter(plan, Backends(), devices, frames.view()));
    for (size_t k = 0; k < views.size(); ++k) views[k].model = std::move(computed.cells[k]);
  }
  ISO_RETURN_IF_ERROR(ReadPair(opened, with, without, *plan.scatter, views));
  ISO_ASSIGN_OR_RETURN(const calibrate::ScatterModelFit fit, calibrate::FitScatterModel(views));
  opened.set.mutable_scatter_model()->set_scale(fit.model.scale);
  const double pitch_mm = opened.calibration.detector.columns *
                          opened.calibration.detector.pitch_u_mm / plan.scatter->columns;
  return WriteInto(std::move(opened.set),
                   {"scatter-model", fit.figures,
                    PictureOf(fit, views[0], plan.scatter->columns, plan.scatter->rows, pitch_mm)},
                   options.set);
}

}  // namespace

void AddCalibrateScatterModelCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "scatter-model", "Scale of the scatter that second passes compute: adds to a set");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate scatter-model --with water --without water_primary \\\n"
      "      --into room3.isocal\n"
      "Both are scans of one object, whole in the frames, that can be reconstructed. The primary\n"
      "alone comes from a simulation, from slits, or from between beam stops.");
  command.Add("--with", options->with, "scan of an object with its scatter")
      .Required()
      .Type("PATH");
  command
      .Add("--without", options->without,
           "the same frames of the primary alone; with air beside the object")
      .Required()
      .Type("PATH");
  AddIntoFlags(command, options->set);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
