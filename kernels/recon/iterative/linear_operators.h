// A and Aᵀ on one device, for one piece and one stack.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/settings.h"

namespace isocenter::recon {

/// Methods of the projector that the settings ask for, and of its adjoint or what stands for it.
struct LinearMethods {
  ops::ForwardProjectFactory forward;
  std::optional<ops::MatchedBackprojectFactory> matched;  // exactly one of the two is there
  std::optional<ops::BackprojectFactory> unmatched;
  std::optional<ops::RowSumsFactory> row_sums;  // where the backend has them
  /// "cuda: forward projection joseph, matched back-projection joseph".
  std::string description;

  /// Errors: NOT_FOUND (a method that the backend lacks).
  static absl::StatusOr<LinearMethods> Find(const IterativeSettings& settings,
                                            const ops::Registry& registry,
                                            absl::string_view backend);
  /// Device memory that they take together for themselves.
  int64_t WorkspaceBytes(const ops::Device& device, const ops::Extents& extents) const;
};

/// A and Aᵀ of one session.
class LinearOperators {
 public:
  /// `session` must outlive them. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<LinearOperators> Create(const LinearMethods& methods,
                                                ops::Session& session);

  /// projections += A x.
  absl::Status Forward(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                       ops::ProjectionStack& projections) const;
  /// projections += A 1 without a volume, where has_row_sums().
  absl::Status SumRows(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid,
                       ops::ProjectionStack& projections) const;
  bool has_row_sums() const { return row_sums_ != nullptr; }
  /// volume += Aᵀ y. Unmatched, it is that but for a factor: see UnmatchedScale.
  absl::Status Back(std::span<const ProjectionMatrix> matrices,
                    const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) const;
  bool matched() const { return matched_ != nullptr; }

 private:
  LinearOperators() = default;
  std::unique_ptr<ops::ForwardProject> forward_;
  std::unique_ptr<ops::MatchedBackproject> matched_;  // exactly one of the two is there
  std::unique_ptr<ops::Backproject> unmatched_;
  std::unique_ptr<ops::RowSums> row_sums_;  // perhaps
};

/// What the distance-weighted back-projection is to be multiplied by to be nearly Aᵀ: a voxel of
/// volume V at x in depth w has the coefficient V·|det M|·|x - s|/w³ (ops::ProjectorModel), of
/// which w⁻² is in the back-projection; at the isocentre the rest is V·|det M|·|s|. The mean over
/// views.
double UnmatchedScale(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid);

/// Rays through the isocentre per mm² of a plane across them: |det M|·|s|, the sum over views.
double RayDensity(std::span<const ProjectionMatrix> matrices);

}  // namespace isocenter::recon
