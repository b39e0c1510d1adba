// A projector as what it is: a sparse matrix with rows for pixels and columns for voxels. A model
// names its entries once; forward projection and adjoint both are read off them.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/projector.h"

namespace isocenter::reference {

/// Takes one entry; pixel and voxel are offsets into [v][u] and [z][y][x].
using Entry = absl::FunctionRef<void(int64_t pixel, int64_t voxel, double length_mm)>;

/// Names the entries of one view's part of the matrix: `detector` is {-, rows, columns}. A pair of
/// pixel and voxel may come several times; its entries add up. Entries may be zero.
using SystemMatrix = void (*)(const ProjectionMatrix& matrix, const VolumeGrid& grid,
                              const Shape3& detector, Entry entry);

void JosephEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid, const Shape3& detector,
                   Entry entry);
void SiddonEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid, const Shape3& detector,
                   Entry entry);
void VoxelDrivenEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid,
                        const Shape3& detector, Entry entry);
void VoxelDrivenSplitEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid,
                             const Shape3& detector, Entry entry);
void SeparableFootprintEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid,
                               const Shape3& detector, Entry entry);

/// The operations of a matrix.
std::unique_ptr<ops::ForwardProject> NewForwardProject(SystemMatrix system);
std::unique_ptr<ops::MatchedBackproject> NewMatchedBackproject(SystemMatrix system);
std::unique_ptr<ops::RowSums> NewRowSums(SystemMatrix system);

}  // namespace isocenter::reference
