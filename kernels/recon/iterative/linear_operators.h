// A and Aᵀ on one device, for one piece and one stack.
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/settings.h"

namespace isocenter::recon {

/// The projector that the settings ask for, and its adjoint or what stands for it.
class LinearOperators {
 public:
  /// `session` must outlive them. Errors: NOT_FOUND (a method that the backend lacks).
  static absl::StatusOr<LinearOperators> Create(const IterativeSettings& settings,
                                                const ops::Registry& registry,
                                                ops::Session& session);

  /// projections += A x.
  absl::Status Forward(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                       ops::ProjectionStack& projections) const;
  /// volume += Aᵀ y. Unmatched, it is that but for a factor: see UnmatchedScale.
  absl::Status Back(std::span<const ProjectionMatrix> matrices,
                    const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) const;
  bool matched() const { return matched_ != nullptr; }
  int64_t WorkspaceBytes(const VolumeGrid& grid, Shape3 projections) const;

 private:
  LinearOperators() = default;
  std::unique_ptr<ops::ForwardProject> forward_;
  std::unique_ptr<ops::MatchedBackproject> matched_;  // exactly one of the two is there
  std::unique_ptr<ops::Backproject> unmatched_;
};

/// What the distance-weighted back-projection is to be multiplied by to be nearly Aᵀ: a voxel of
/// volume V at x in depth w has the coefficient V·|det M|·|x - s|/w³ (ops::ProjectorModel), of
/// which w⁻² is in the back-projection; at the isocentre the rest is V·|det M|·|s|. The mean over
/// views.
double UnmatchedScale(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid);

/// Rays through the isocentre per mm² of a plane across them: |det M|·|s|, the sum over views.
double RayDensity(std::span<const ProjectionMatrix> matrices);

}  // namespace isocenter::recon
