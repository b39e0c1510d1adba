// Forward projection and its adjoint: what the measured line integrals of a voxel volume would be.
// Several models of how a ray sees a voxel, one contract each.
//
// Notation. P is a view's world matrix, M its left 3x3 part, Q = P·A the matrix that takes voxel
// indices (A: the grid's index-to-world transform). Pixel (u, v) has its ray from the source s in
// the direction d(u, v) = M⁻¹ (u, v, 1), along which w grows by 1: a point of the ray is
// s + w·d, and only w > 0 counts. Every model is linear, p = A x, with x in 1/mm and p
// dimensionless: rows of A are lengths in mm.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/buffers.h"

namespace isocenter::ops {

enum class ProjectorModel {
  /// Joseph, IEEE TMI 1 (1982) 192. The major axis of a ray is the index axis along which d, in
  /// voxel indices, is largest (the first of equals). The volume is sampled where the ray crosses
  /// the planes of voxel centres perpendicular to it: bilinear between the four centres around,
  /// zero outside of the grid (a sample next to the border is blended with zero). The sum is times
  /// the length of the ray between two planes. Exact over slabs: what a grid gives is the sum of
  /// what its runs of slices give.
  kJoseph,
  /// Siddon, Med. Phys. 12 (1985) 252: the length of the ray inside each voxel, a box of one
  /// spacing around its centre.
  kSiddon,
  /// Du et al., BioMed. Eng. OnLine 16 (2017) 2. Voxel j, whose centre x_j is seen at (u_j, v_j) in
  /// depth w_j > 0, adds c_j·x_j to the four pixels around, bilinearly; what falls beside the
  /// detector is lost. c_j = V·|det M|·|x_j - s| / w_j³ with V the voxel's volume in mm³: the mean
  /// length of the rays inside the voxel times their number, so that p is a line integral.
  kVoxelDriven,
  /// The same with each voxel cut into eight: centres at ±1/4 of the spacing, an eighth of the
  /// volume each.
  kVoxelDrivenSplit,
  /// Separable footprints, trapezoid by rectangle: Long, Fessler, Balter, IEEE TMI 29 (2010) 1839,
  /// stated for general matrices. The axial axis a of a view is the index axis along which v
  /// changes most, less what u changes (AxialAxis below); b and c are the other two. Seen from the
  /// source, the voxel's four edges parallel to a, taken at its centre along a, are at
  /// u0 <= u1 <= u2 <= u3: a trapezoid of height 1 that rises from u0 to u1 and falls from u2 to
  /// u3. Its centre moved by ±1/2 along a is at v0 <= v1: a rectangle. Pixel
  /// (u, v) has the share F(u) = ∫ trapezoid over [u-1/2, u+1/2] times G(v) = length of [v0, v1] in
  /// [v-1/2, v+1/2], and the voxel adds x_j·h_j·F·G with h_j = c_j / (((u3-u0) + (u2-u1))/2 ·
  /// (v1-v0)), c_j of kVoxelDriven: the amplitude that keeps the mass. A voxel of which a corner
  /// that is used has w <= 0, or whose footprint has no area, adds nothing.
  kSeparableFootprint,
};
inline constexpr ProjectorModel kProjectorModels[] = {
    ProjectorModel::kJoseph, ProjectorModel::kSiddon, ProjectorModel::kVoxelDriven,
    ProjectorModel::kVoxelDrivenSplit, ProjectorModel::kSeparableFootprint};

/// "joseph", "siddon", "voxel_driven", "voxel_driven_split", "separable_footprint".
absl::string_view ProjectorName(ProjectorModel model);
/// Errors: INVALID_ARGUMENT, listing the names.
absl::StatusOr<ProjectorModel> ProjectorNamed(absl::string_view name);

/// The axial axis of a view (0, 1, 2 for x, y, z of the grid's indices), in float64 and the same in
/// every backend: the index axis a with the largest |∂v/∂a| - |∂u/∂a| per mm at the isocentre, the
/// last of equals. An axis that is seen end-on moves little of either, whatever its direction on
/// the detector, and is not chosen. It depends on the directions of the grid's axes, not on where
/// the grid is.
int AxialAxis(const ProjectionMatrix& matrix, const VolumeGrid& grid);

/// projections += A x. Views of one Run may share memory traffic; the sum over voxels of one pixel
/// is taken in an order that depends on nothing but geometry and shapes. Errors: INVALID_ARGUMENT
/// (shape, use, backend, matrices that are not finite or more than the views of the stack),
/// RESOURCE_EXHAUSTED. Run checks, DoRun computes (kernels/ops/operations.h).
class ForwardProject {
 public:
  virtual ~ForwardProject() = default;
  /// matrices[i] belongs to view i of the stack (StackUse::kProjections); world matrices. Views
  /// beyond keep what they had.
  absl::Status Run(std::span<const ProjectionMatrix> matrices, const VolumeBuffer& volume,
                   ProjectionStack& projections);

 private:
  virtual absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const VolumeBuffer& volume,
                             ProjectionStack& projections) = 0;
};

/// projections += A 1: what ForwardProject of the same model and backend makes of a volume of ones,
/// to rounding (1e-5 of the largest sum). A ray's sum is the length in mm that the model gives it
/// inside of the grid; no voxel is read. Views beyond the matrices keep what they had. Errors as
/// ForwardProject.
class RowSums {
 public:
  virtual ~RowSums() = default;
  absl::Status Run(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid,
                   ProjectionStack& projections);

 private:
  virtual absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid,
                             ProjectionStack& projections) = 0;
};

/// volume += Aᵀ y, the adjoint of ForwardProject of the same model and backend:
/// |⟨Ax, y⟩ - ⟨x, Aᵀy⟩| <= 1e-5 ‖Ax‖ ‖y‖ in float32. Errors: as ForwardProject.
class MatchedBackproject {
 public:
  virtual ~MatchedBackproject() = default;
  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ProjectionStack& projections,
                   VolumeBuffer& volume);

 private:
  virtual absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                             const ProjectionStack& projections, VolumeBuffer& volume) = 0;
};

}  // namespace isocenter::ops
