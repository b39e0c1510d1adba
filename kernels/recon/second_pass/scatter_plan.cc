#include "kernels/recon/second_pass/scatter_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/scatter/field.h"

namespace isocenter::recon {
namespace {

constexpr int kVoxels = 96;  // across the field of view
constexpr int kMostSlices = 256;
constexpr double kMargin = 1.05;  // of the grid around the field of view
constexpr int kCells = 32;        // across the detector
constexpr int kSampledViews = 36;

absl::Status CheckCalibration(const Acquisition& acquisition) {
  const ops::Calibration* const known = acquisition.calibration.get();
  if (known == nullptr) {
    return absl::InvalidArgumentError(
        "the acquisition has no calibration; legal for a correction of scatter is one that has a "
        "scatter model");
  }
  if (!known->scatter_model || known->mu_water_per_mm == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the calibration '", known->name, "' has no ",
        known->scatter_model ? "attenuation of water" : "scatter model",
        "; legal for a correction of scatter are those that `isocenter calibrate beam-hardening` "
        "and `isocenter calibrate scatter-model` were run on"));
  }
  return absl::OkStatus();
}

// Of the largest source distance, so that what is nearest to the detector is inside.
absl::StatusOr<VolumeGrid> CoarseGrid(const Acquisition& acquisition) {
  ISO_ASSIGN_OR_RETURN(const FieldOfView seen,
                       ComputeFieldOfView(acquisition.trajectory, acquisition.detector));
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(acquisition.trajectory.front()));
  const double radius = kMargin * seen.radius_mm;
  const double height = seen.half_height_mm * (1 + radius / camera.isocenter_depth_mm);
  const double voxel = 2 * radius / kVoxels;
  const int slices = std::clamp(static_cast<int>(std::ceil(2 * height / voxel)), 1, kMostSlices);
  const VolumeGrid grid = CenteredGrid(kVoxels, kVoxels, slices, {voxel, voxel, voxel});
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  return grid;
}

}  // namespace

absl::StatusOr<ScatterPlan> MakeScatterPlan(const ReconstructionPlan& first,
                                            const ops::Registry& registry,
                                            std::span<const ops::Device* const> devices) {
  const Acquisition& acquisition = first.acquisition;
  ISO_RETURN_IF_ERROR(CheckCalibration(acquisition));
  if (!acquisition.calibration->water.hardness.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the calibration set '", acquisition.calibration->name,
                     "' has hardness of columns (a bow-tie), and a second pass against scatter "
                     "knows a beam that "
                     "is the same for all columns; legal is a set without"));
  }
  ScatterPlan plan;
  auto sections = std::make_shared<const scatter::CrossSections>();
  ISO_ASSIGN_OR_RETURN(plan.beam, scatter::FitBeam(*acquisition.calibration, *sections));
  plan.sections = std::move(sections);

  plan.water = acquisition.calibration->water;
  plan.raw = acquisition;
  auto raw = std::make_shared<ops::Calibration>(*acquisition.calibration);
  raw->scatter.reset();
  raw->water.coefficient.clear();
  plan.raw.calibration = std::move(raw);

  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, CoarseGrid(acquisition));
  static_cast<PixelBins&>(plan) = BinsFor(acquisition, grid.spacing.x);
  FdkSettings settings = first.settings;
  settings.window = ops::FilterWindow::kHann;
  settings.cutoff = 1;
  ISO_ASSIGN_OR_RETURN(plan.coarse, MakePlan(Binned(acquisition, plan), grid, settings, registry,
                                             devices, Arrival::kComplete));

  const Detector& detector = acquisition.detector;
  const double aspect =
      detector.rows * detector.pitch_v_mm / (detector.columns * detector.pitch_u_mm);
  plan.columns = std::min(kCells, detector.columns);
  plan.rows = std::clamp(static_cast<int>(std::lround(plan.columns * aspect)), 1,
                         std::min(4 * kCells, detector.rows));
  plan.sampled = scatter::SampledFrames(kSampledViews, first.views());
  return plan;
}

int64_t ScatterBytes(const ScatterPlan& plan) {
  const Detector& binned = plan.coarse.acquisition.detector;
  const int64_t lines = int64_t{binned.columns} * binned.rows * plan.coarse.views() *
                        static_cast<int64_t>(sizeof(float));
  const auto cells = static_cast<int64_t>(plan.sampled.size()) * plan.columns * plan.rows *
                     static_cast<int64_t>(4 * sizeof(double));
  // Lines, a corrected chunk of them, and the volume with its object of two tissues.
  return 2 * lines + (1 + scatter::kTissues) * VolumeBytes(plan.coarse.grid) + cells +
         plan.coarse.host_bytes + CalibrationBytes(plan.raw);
}

}  // namespace isocenter::recon
