// Frames as they come -> line integrals in the order in which a refinement uses them.
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/linear_system.h"
#include "kernels/recon/line_converter.h"

namespace isocenter::recon {

/// Converts frames on the first device and gives each device the rows that concern it. It goes by
/// way of host memory, because the views of a subset are not those that come together. Not
/// thread-safe.
class FrameStore {
 public:
  /// `system` and `b` must outlive it. Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<FrameStore>> Create(LinearSystem& system,
                                                            ProjectionVector& b);
  /// What Create takes of a device's memory with what its operation takes, and of the host's.
  static absl::StatusOr<int64_t> DeviceBytes(const RefinementPlan& plan,
                                             const ops::Registry& registry, int device,
                                             const ops::Device& on);
  static int64_t HostBytes(const RefinementPlan& plan);
  /// Views so far.
  int views() const { return next_view_; }
  /// The next frames; as Refinement::Push.
  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                    std::span<const float> doses);

 private:
  FrameStore(LinearSystem& system, ProjectionVector& b) : system_(system), b_(b) {}
  absl::Status Check(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                     std::span<const float> doses) const;
  absl::Status Distribute(HostView3<const float> line_integrals);

  LinearSystem& system_;
  ProjectionVector& b_;
  RowRange rows_;  // of all devices together
  std::unique_ptr<LineConverter> converter_;
  std::unique_ptr<ops::HostMemory> staging_;
  int next_view_ = 0;
};

}  // namespace isocenter::recon
