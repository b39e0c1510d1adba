#include "client/imaging/likeness.h"

#include <algorithm>
#include <cmath>

namespace isocenter::imaging {
namespace {

constexpr double kReachMm = 25;      // from the isocentre's plane
constexpr int kEdge = 4;             // of a cube, voxels
constexpr int64_t kLeastCubes = 50;  // of the object: of fewer nothing is said
constexpr double kSurface = -500;    // HU, half of water
constexpr double kStep = 600;        // HU, more than artefacts have

}  // namespace

void Likeness::Add(int first_slice, HostView3<const float> slices, HostView3<const float> truth) {
  const Shape3& shape = slices.shape();
  for (int k = 0; k < shape.slow; k += kEdge) {
    for (int j = 0; j < shape.middle; j += kEdge) {
      for (int i = 0; i < shape.fast; i += kEdge) {
        const Vec3 corner = grid_.VoxelToWorld(i, j, first_slice + k);
        if (std::abs(corner.z) <= kReachMm) AddCube({k, j, i}, slices, truth);
      }
    }
  }
}

void Likeness::AddCube(Cube cube, HostView3<const float> slices, HostView3<const float> truth) {
  const Shape3& shape = slices.shape();
  double expected = 0, found = 0;
  int voxels = 0;
  for (int k = cube.first_slice; k < std::min<int64_t>(cube.first_slice + kEdge, shape.slow); ++k) {
    for (int j = cube.j; j < std::min<int64_t>(cube.j + kEdge, shape.middle); ++j) {
      for (int i = cube.i; i < std::min<int64_t>(cube.i + kEdge, shape.fast); ++i, ++voxels) {
        expected += truth(k, j, i);
        found += slices(k, j, i);
      }
    }
  }
  expected /= voxels;
  found /= voxels;
  object_ += expected > kSurface;
  wrong_ += (expected > kSurface) != (found > kSurface) && std::abs(expected - found) > kStep;
}

double Likeness::Wrong() const {
  if (object_ < kLeastCubes) return 0;
  return static_cast<double>(wrong_) / static_cast<double>(object_);
}

}  // namespace isocenter::imaging
