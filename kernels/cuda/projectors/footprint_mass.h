// What a voxel adds to a view in all, in the voxel-driven models: c_j of ops::ProjectorModel. No
// CUDA in it.
#pragma once

#include <vector>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// c = sqrt(q(u, v)) / w² of a piece of a voxel that is seen at (u, v) in depth w. From
/// |x - s| = w·|d(u, v)| with the ray direction d(u, v) = M⁻¹ (u, v, 1): q = (V·|det M|)²·|d|² is a
/// quadratic form in u and v.
struct MassForm {
  double uu, uv, vv, u, v, one;
};

/// Of voxels cut into `parts` along each axis.
MassForm MassFormOf(const ProjectionMatrix& world, const VolumeGrid& grid, int parts);

/// The quadratic form of MassForm for pixels relative to (u, v), times `factor`.
inline void StoreMass(const MassForm& q, double u, double v, double factor, float (&to)[6]) {
  const double mass[] = {q.uu,
                         q.uv,
                         q.vv,
                         q.u + 2 * q.uu * u + q.uv * v,
                         q.v + 2 * q.vv * v + q.uv * u,
                         q.one + u * (q.uu * u + q.uv * v + q.u) + v * (q.vv * v + q.v)};
  for (int i = 0; i < 6; ++i) to[i] = static_cast<float>(factor * mass[i]);
}

/// The matrices from voxel indices to pixels of the parts³ pieces of each voxel; with one, that of
/// its centre.
std::vector<ProjectionMatrix> MatricesOfPieces(const ProjectionMatrix& world,
                                               const VolumeGrid& grid, int parts);

/// The depths w of a grid, to the outer faces of its voxels, and the largest c of a voxel's piece.
struct MassBound {
  double least_depth, most_depth;
  double largest;  // infinite unless least_depth > 0
};
MassBound BoundMass(const ProjectionMatrix& world, const VolumeGrid& grid, int parts);

/// At least the sum, over voxels of a box of `counts` voxels, of the bilinear weights with which
/// they count in one pixel of a detector: what fixed-point sums must have room for. `indexed` maps
/// voxel indices to pixels; `most_depth` is that of the grid.
double MostWeightPerPixel(const ProjectionMatrix& indexed, double most_depth,
                          const int (&counts)[3], int columns, int rows);

}  // namespace isocenter::cuda
