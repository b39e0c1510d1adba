#include "kernels/recon/motion/focus.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/recon/chunk_filter.h"
#include "kernels/recon/motion/histogram_entropy.h"

namespace isocenter::recon {
namespace {

// Of the attenuation of water: from what streaks leave below air to dense bone, in bins of 12 HU.
constexpr double kLeast = -0.5, kMost = 3, kBin = 0.012;
// Of the views that must see a voxel, one in so many is asked.
constexpr int kViewsAsked = 24;

Shape3 StackShape(const ReconstructionPlan& plan) {
  return {plan.views(), plan.filtered_detector.rows, plan.filtered_detector.columns};
}

}  // namespace

FdkSettings FocusSettings(FdkSettings fdk) {
  fdk.window = ops::FilterWindow::kHann;
  fdk.cutoff = 1;
  fdk.precision = ops::Precision::kExact;
  fdk.backproject_method.clear();
  return fdk;
}

absl::StatusOr<std::unique_ptr<Focus>> Focus::Create(const ReconstructionPlan& plan,
                                                     const PixelBins& bins,
                                                     HostView3<const float> lines,
                                                     const ops::Registry& registry,
                                                     ops::Device& device, ThreadPool& threads) {
  std::unique_ptr<Focus> self(new Focus(plan, bins, threads));
  ISO_ASSIGN_OR_RETURN(self->session_, device.NewSession());
  ISO_ASSIGN_OR_RETURN(
      const FdkMethods methods,
      FdkMethods::Find(plan.settings, plan.filtered_detector, registry, device.backend()));
  ISO_ASSIGN_OR_RETURN(self->backproject_, methods.backproject(*self->session_));
  ISO_ASSIGN_OR_RETURN(const auto gradient, registry.matrix_gradient.Find(device.backend()));
  ISO_ASSIGN_OR_RETURN(self->gradient_, gradient(*self->session_));
  ISO_RETURN_IF_ERROR(self->Filter(methods, lines));
  ISO_ASSIGN_OR_RETURN(self->volume_, self->session_->NewVolume(plan.grid));
  self->voxels_.resize(plan.grid.voxels());
  self->by_voxel_.resize(plan.grid.voxels());
  self->Mark();
  return self;
}

int64_t Focus::DeviceBytes(const ReconstructionPlan& plan, const ops::Device& device) {
  return device.ProjectionStackBytes(StackShape(plan), ops::StackUse::kLineIntegrals) +
         device.ProjectionStackBytes(StackShape(plan), ops::StackUse::kProjections) +
         device.VolumeBytes(plan.grid);
}

int64_t Focus::HostBytes(const ReconstructionPlan& plan) {
  return 2 * VolumeBytes(plan.grid) + plan.grid.voxels();
}

absl::Status Focus::Filter(const FdkMethods& methods, HostView3<const float> lines) {
  ISO_ASSIGN_OR_RETURN(ChunkFilter filter, ChunkFilter::Create(plan_, methods, *session_));
  ISO_ASSIGN_OR_RETURN(const auto stack, session_->NewProjectionStack(
                                             StackShape(plan_), ops::StackUse::kLineIntegrals));
  Filtered filtered;
  ISO_ASSIGN_OR_RETURN(
      filtered.stack, session_->NewProjectionStack(StackShape(plan_), ops::StackUse::kProjections));
  ISO_RETURN_IF_ERROR(filter.Run({.chunk = {0, plan_.views()},
                                  .frames = {.line_integrals = lines},
                                  .matrices = plan_.acquisition.trajectory},
                                 {0, plan_.acquisition.detector.rows}, *stack, filtered));
  filtered_ = std::move(filtered.stack);
  return session_->Synchronize();
}

void Focus::Mark() {
  const VolumeGrid& grid = plan_.grid;
  const Detector& detector = plan_.acquisition.detector;
  const Trajectory& trajectory = plan_.acquisition.trajectory;
  const bool displaced = plan_.filtered_detector.columns != detector.columns;
  const size_t step = std::max<size_t>(1, trajectory.size() / kViewsAsked);
  counted_.assign(grid.voxels(), 0);
  threads_.ParallelFor(grid.nz, [&](int64_t k, int) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const Vec3 at = grid.VoxelToWorld(i, j, static_cast<double>(k));
        bool seen = true;
        for (size_t view = 0; view < trajectory.size() && seen; view += step) {
          const Projected p = trajectory[view].Project(at);
          const double u = p.u(), v = p.v();
          seen = v >= 2 && v <= detector.rows - 3 &&
                 (displaced || (u >= 2 && u <= detector.columns - 3));
        }
        counted_[(k * grid.ny + j) * grid.nx + i] = seen ? 1 : 0;
      }
    }
  });
}

double Focus::Criterion() {
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < voxels_.size(); ++i) {
    if (counted_[i] == 0) continue;
    sum += voxels_[i];
    ++count;
  }
  const double mean = sum / static_cast<double>(count);
  if (mean_ == 0) mean_ = mean;
  const auto factor = static_cast<float>(mean_ / mean);
  for (float& value : voxels_) value *= factor;
  const double water = plan_.hounsfield.mu_water_per_mm;
  const HistogramBins bins{.least = kLeast * water,
                           .width = kBin * water,
                           .count = static_cast<int>((kMost - kLeast) / kBin)};
  const Shape3 shape = plan_.grid.shape();
  const double entropy = HistogramEntropy({voxels_.data(), shape}, counted_, bins, threads_,
                                          {by_voxel_.data(), shape});
  // A voxel changes the mean, too, and by that all the others.
  double by_factor = 0;
  for (size_t i = 0; i < voxels_.size(); ++i) {
    by_factor += static_cast<double>(voxels_[i]) * by_voxel_[i];
  }
  const auto by_mean = static_cast<float>(by_factor / sum);
  for (size_t i = 0; i < voxels_.size(); ++i) {
    by_voxel_[i] = counted_[i] == 0 ? 0 : by_voxel_[i] * factor - by_mean;
  }
  return entropy;
}

absl::StatusOr<double> Focus::Evaluate(std::span<const ProjectionMatrix> matrices,
                                       std::span<const double> shares,
                                       std::span<ops::MatrixSlope> slopes,
                                       std::span<double> by_share) {
  // What a view adds goes with 1 / w²: a matrix divided by the root of its share adds that share.
  std::vector<ProjectionMatrix> filtered;
  for (size_t view = 0; view < matrices.size(); ++view) {
    filtered.push_back(WithColumnsBefore(Binned(matrices[view], bins_), plan_.first_column));
    for (double& element : filtered.back().m) element /= std::sqrt(shares[view]);
  }
  ISO_RETURN_IF_ERROR(volume_->Clear());
  ISO_RETURN_IF_ERROR(backproject_->Run(filtered, *filtered_, *volume_));
  const Shape3 shape = plan_.grid.shape();
  ISO_RETURN_IF_ERROR(volume_->Download(0, HostView3<float>(voxels_.data(), shape)));
  const double entropy = Criterion();
  ISO_RETURN_IF_ERROR(volume_->Upload(0, HostView3<const float>(by_voxel_.data(), shape)));
  ISO_RETURN_IF_ERROR(gradient_->Run(filtered, *filtered_, *volume_, slopes));
  // u' = (u - shift_u) / bin + columns before the first, v' alike: so much of the third row is in
  // the first and the second.
  const double of_u = plan_.first_column - (bins_.first_column + (bins_.bin - 1) / 2.0) / bins_.bin;
  const double of_v = -(bins_.first_row + (bins_.bin - 1) / 2.0) / bins_.bin;
  for (size_t view = 0; view < matrices.size(); ++view) {
    ops::MatrixSlope& slope = slopes[view];
    double by_length = 0;
    for (int i = 0; i < 12; ++i) by_length += slope[i] * filtered[view].m[i];
    by_share[view] = -0.5 * by_length / shares[view];
    for (double& element : slope) element /= std::sqrt(shares[view]);
    for (int i = 0; i < 4; ++i) {
      slope[8 + i] += of_u * slope[i] + of_v * slope[4 + i];
      slope[i] /= bins_.bin;
      slope[4 + i] /= bins_.bin;
    }
  }
  return entropy;
}

}  // namespace isocenter::recon
