// The sharpness of a coarse volume as a function of the matrices that it is made with.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/recon/fdk_methods.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/second_pass/pixel_bins.h"

namespace isocenter::recon {

/// How the volume is filtered and back-projected whose sharpness is asked for, whatever the one is
/// that it is asked for.
FdkSettings FocusSettings(FdkSettings fdk);

/// Filtered frames and a volume on one device. Frames are filtered once, with the weights of the
/// matrices that they came with. Not thread-safe.
class Focus {
 public:
  /// `plan` is of the line integrals of binned pixels, [view][v][u] in `lines`. It, `device` and
  /// `threads` must outlive the focus, `lines` need not. Errors: RESOURCE_EXHAUSTED, NOT_FOUND (a
  /// method that the backend lacks).
  static absl::StatusOr<std::unique_ptr<Focus>> Create(const ReconstructionPlan& plan,
                                                       const PixelBins& bins,
                                                       HostView3<const float> lines,
                                                       const ops::Registry& registry,
                                                       ops::Device& device, ThreadPool& threads);
  /// What Create takes of the device's memory, and of the host's.
  static int64_t DeviceBytes(const ReconstructionPlan& plan, const ops::Device& device);
  static int64_t HostBytes(const ReconstructionPlan& plan);

  /// The entropy of the volume's values (histogram_entropy.h) for these matrices, one for each
  /// view, of pixels that are not binned, with w = 1 at the isocentre, and for views that count so
  /// much (1: as at rest); and its derivatives by both. The values are divided by their mean and
  /// multiplied by `mean`, that of the first evaluation where nobody has set one: else fainter
  /// volumes would be held to be sharper. Errors: a device's.
  absl::StatusOr<double> Evaluate(std::span<const ProjectionMatrix> matrices,
                                  std::span<const double> shares,
                                  std::span<ops::MatrixSlope> slopes, std::span<double> by_share);
  /// Of the voxels that count. 0: there was no evaluation.
  double mean() const { return mean_; }
  void SetMean(double mean) { mean_ = mean; }

 private:
  Focus(const ReconstructionPlan& plan, const PixelBins& bins, ThreadPool& threads)
      : plan_(plan), bins_(bins), threads_(threads) {}
  absl::Status Filter(const FdkMethods& methods, HostView3<const float> lines);
  /// Voxels that nearly all views see, two voxels from what they do not.
  void Mark();
  /// The criterion of `voxels_`, its derivatives into `by_voxel_`.
  double Criterion();

  const ReconstructionPlan& plan_;
  const PixelBins bins_;
  ThreadPool& threads_;
  std::unique_ptr<ops::Session> session_;
  std::unique_ptr<ops::ProjectionStack> filtered_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::Backproject> backproject_;
  std::unique_ptr<ops::MatrixGradient> gradient_;
  std::vector<uint8_t> counted_;
  std::vector<float> voxels_, by_voxel_;
  double mean_ = 0;
};

}  // namespace isocenter::recon
