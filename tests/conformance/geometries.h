// Geometries that the suites run on: the everyday ones and those that fast paths must not trip
// over.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::conformance {

/// A system with source, tilt, roll, skew and principal point at random, that sees the isocentre.
/// `object_mm`: size of what is to be seen on a detector of shape {-, rows, columns}.
ProjectionMatrix RandomMatrix(std::mt19937& random, Shape3 detector, double object_mm);

/// Views from all around with the detector's columns nearly along z, as a C-arm has them.
/// pixels_per_mm at the isocentre; roll in radians turns the detector in its plane.
std::vector<ProjectionMatrix> CArmMatrices(int views, Shape3 detector, double pixels_per_mm,
                                           double wobble, double roll);

struct BackprojectCase {
  std::string name;
  Shape3 detector;  // {views, rows, columns}
  std::vector<ProjectionMatrix> matrices;
  VolumeGrid grid;
};
std::vector<BackprojectCase> BackprojectCases();

/// For forward projectors and their adjoints: smaller, because the reference of every model runs on
/// each, and such that no ray runs along the faces of voxels or as much along one axis as along
/// another, but by chance: there the models step, and float32 may fall to the other side.
struct ProjectCase : BackprojectCase {
  /// One pixel or voxel: noise could nearly cancel there, its magnitude does not.
  bool positive_input = false;
  /// How much looser than for others a comparison must be. Voxels next to a source: their share of
  /// a view, 1/w³, magnifies rounding and outweighs the rest. One voxel: most pixels see nothing,
  /// so that the mean is small.
  double looser = 1;
};
std::vector<ProjectCase> ProjectCases();

/// `grid` turned about an oblique axis by `angle`, around the isocentre.
VolumeGrid Rotated(VolumeGrid grid, double angle);

}  // namespace isocenter::conformance
