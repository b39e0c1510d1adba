// One run of the RabbitCT benchmark on a device of this project.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/registry.h"
#include "kernels/rabbitct/schedule.h"

namespace isocenter::rabbitct {

struct Problem {
  unsigned voxels_per_edge = 0;
  unsigned columns = 0, rows = 0;
  double voxel_mm = 0;
  double first_voxel_mm = 0;  // x, y and z of the first voxel's centre
  std::string backend;        // empty: the fastest of this machine
  std::string method;         // of the back-projection; empty: the backend's exact one
  /// Images that the runner hands over one after the other, between pauses that it does not time.
  unsigned images_at_once = 1;
  const ops::Registry* methods = nullptr;  // where `method` is found; null: the backend's own
  /// Of a device with memory of its own; 0: all of it.
  int64_t device_memory_bytes = 0;
  /// The volume goes through the device in parts, though it may fit.
  bool streamed = false;
};

/// f(x) = Σ_n w⁻² · p_n(u, v), as RabbitCT defines it: with filtered projections, bilinear between
/// pixel centres at integers, zero outside. Voxels at or behind the source receive nothing. Source:
/// Rohkohl et al., Med. Phys. 36 (2009) 3940. Not thread-safe.
class BenchmarkRun {
 public:
  /// Errors: INVALID_ARGUMENT (problem), NOT_FOUND (backend, method; what exists is listed),
  /// UNAVAILABLE (no such device), RESOURCE_EXHAUSTED (memory).
  static absl::StatusOr<std::unique_ptr<BenchmarkRun>> Create(const Problem& problem);

  ~BenchmarkRun();

  /// For people: the device and why it was chosen.
  const std::string& description() const { return description_; }
  int projections() const { return projections_; }

  /// As many as there are images at once, or none. Whoever puts images there and hands over these
  /// spares a copy; what is in them is changed.
  std::span<float*> image_buffers();
  /// Memory for the result to which Finish copies at full speed, or in which it is already; its
  /// values are undefined until then. It lives as long as the run.
  absl::StatusOr<std::span<float>> Result();

  /// matrix  12 values, column by column, of any scale and sign; singular ones are refused
  /// image   [row][column]; one of image_buffers() stays as it is until the last of
  ///         `images_at_once` returns, others are copied before the call returns
  /// Projections are gathered and back-projected together. On a device with memory of its own,
  /// uploads and back-projection go on beside the calls; the last of `images_at_once` returns when
  /// all has ended, so that nothing is done in the runner's pauses. Elsewhere, and with few images
  /// at once, the call that completes a batch returns when its work has ended. Errors:
  /// INVALID_ARGUMENT (matrix, size of the image).
  absl::Status Add(std::span<const double, 12> matrix, std::span<const float> image);

  /// Whether the device may be at work though no call is.
  bool busy() const { return schedule_->busy(); }

  /// Back-projects what is left and copies the volume [z][y][x] to host memory. Errors:
  /// INVALID_ARGUMENT (size), and those of the device.
  absl::Status Finish(std::span<float> volume);

  /// What the device did when; waits for it.
  absl::StatusOr<std::vector<ops::Span>> TakeTrace() { return session_->timeline().Take(); }

 private:
  BenchmarkRun() = default;
  absl::Status ChooseSchedule(const ops::BackprojectFactory& factory);
  size_t pixels() const { return size_t{problem_.columns} * problem_.rows; }

  Problem problem_;
  VolumeGrid grid_;
  std::string description_;
  std::unique_ptr<ops::Device> device_;
  std::unique_ptr<ops::Session> session_;
  std::unique_ptr<ops::Backproject> backproject_;
  std::unique_ptr<ops::HostMemory> result_;
  std::unique_ptr<Schedule> schedule_;
  int projections_ = 0;
};

}  // namespace isocenter::rabbitct
