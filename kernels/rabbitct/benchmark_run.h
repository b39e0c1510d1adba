// One run of the RabbitCT benchmark on a device of this project.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/registry.h"

namespace isocenter::rabbitct {

struct Problem {
  unsigned voxels_per_edge = 0;
  unsigned columns = 0, rows = 0;
  double voxel_mm = 0;
  double first_voxel_mm = 0;  // x, y and z of the first voxel's centre
  std::string backend;        // empty: the fastest of this machine
  std::string method;         // of the back-projection; empty: the backend's exact one
};

/// f(x) = Σ_n w⁻² · p_n(u, v), as RabbitCT defines it: with filtered projections, bilinear between
/// pixel centres at integers, zero outside. Voxels at or behind the source receive nothing. Source:
/// Rohkohl et al., Med. Phys. 36 (2009) 3940. Not thread-safe.
class BenchmarkRun {
 public:
  /// Errors: INVALID_ARGUMENT (problem), NOT_FOUND (backend, method; what exists is listed),
  /// UNAVAILABLE (no such device), RESOURCE_EXHAUSTED (memory).
  static absl::StatusOr<std::unique_ptr<BenchmarkRun>> Create(const Problem& problem);

  /// For people: the device and why it was chosen.
  const std::string& description() const { return description_; }
  int projections() const { return projections_; }

  /// matrix  12 values, column by column, of any scale and sign; singular ones are refused
  /// image   [row][column], copied before the call returns
  /// Projections are gathered and back-projected together; a call that completes a batch returns
  /// when its work on the device has ended. Errors: INVALID_ARGUMENT (matrix, size of the image).
  absl::Status Add(std::span<const double, 12> matrix, std::span<const float> image);

  /// Back-projects what is left and copies the volume [z][y][x] to host memory. Errors:
  /// INVALID_ARGUMENT (size), and those of the device.
  absl::Status Finish(std::span<float> volume);

 private:
  BenchmarkRun() = default;
  absl::Status BackprojectBatch();

  Problem problem_;
  std::string description_;
  std::unique_ptr<ops::Device> device_;
  std::unique_ptr<ops::Session> session_;
  std::unique_ptr<ops::Backproject> backproject_;
  std::unique_ptr<ops::ProjectionStack> batch_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::vector<ProjectionMatrix> matrices_;  // of the projections in batch_
  std::vector<float> scaled_;               // one image
  int projections_ = 0;
};

}  // namespace isocenter::rabbitct
