// What frames would show of a volume: digitally reconstructed radiographs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/self_calibration/reference/reference_volume.h"

namespace isocenter::recon {

/// The reference's volume on a device, with room for a few frames (Joseph's projector).
class Radiographs {
 public:
  /// `device` must outlive it. Errors: NOT_FOUND (a backend without projectors),
  /// RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<Radiographs>> Create(const ReferenceVolume& reference,
                                                             const Detector& detector,
                                                             int most_views,
                                                             const ops::Registry& registry,
                                                             ops::Device& device);
  int most_views() const { return most_views_; }
  /// Line integrals, [view][v][u], until the next call. Errors: the device's.
  absl::StatusOr<std::span<const float>> Project(std::span<const ProjectionMatrix> matrices);

 private:
  Radiographs() = default;

  Detector detector_;
  int most_views_ = 0;
  std::unique_ptr<ops::Session> session_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> stack_;
  std::unique_ptr<ops::ForwardProject> project_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;
  std::vector<float> lines_;
};

/// Pixels of a view, [v][u], of which the volume has all that the ray passes: the ray enters and
/// leaves the volume in air. The others see more than the volume knows, or miss it.
std::vector<uint8_t> CoveredPixels(const ReferenceVolume& reference, const ProjectionMatrix& matrix,
                                   const Detector& detector, double air_mu);

}  // namespace isocenter::recon
