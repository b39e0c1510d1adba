// The iterate as others see it: HU in host memory.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/linear_system.h"

namespace isocenter::recon {

/// Converts on the devices, some slices at a time, beside the copies: a host thread takes ten times
/// as long as both. Not thread-safe.
class VolumeExchange {
 public:
  /// `system` must outlive it. Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<VolumeExchange>> Create(LinearSystem& system);
  /// What Create takes of a device's memory with what its operation takes.
  static absl::StatusOr<int64_t> DeviceBytes(const RefinementPlan& plan,
                                             const ops::Registry& registry, int device,
                                             const ops::Device& on);

  /// x = what the HU [z][y][x] are in 1/mm, at least zero where the plan says so. Errors:
  /// INVALID_ARGUMENT (a value that is not finite; x is zero).
  absl::Status Set(HostView3<const float> hounsfield, VolumeVector& x);
  /// The HU of x, which stays as it is. Waits.
  absl::Status Read(VolumeVector& x, HostView3<float> hounsfield);

 private:
  struct Part {
    std::unique_ptr<ops::ToHounsfield> to_hounsfield;
    std::vector<std::unique_ptr<ops::VolumeBuffer>> staging;  // slices on their way out, in turn
    int turn = 0;
  };
  explicit VolumeExchange(LinearSystem& system) : system_(system) {}
  absl::Status ReadPiece(const Piece& piece, const ops::VolumeBuffer& volume,
                         HostView3<float> hounsfield);

  LinearSystem& system_;
  std::vector<Part> parts_;  // by device
};

}  // namespace isocenter::recon
