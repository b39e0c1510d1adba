// A volume as an object of water and bone.
#pragma once

#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/scatter/beam.h"
#include "kernels/scatter/cross_sections.h"
#include "kernels/scatter/object.h"

namespace isocenter::scatter {

/// Below this a voxel is air, from kBoneHu on bone; between, water.
inline constexpr double kAirHu = -700, kBoneHu = 250;

/// The grid of cells that are `merge` voxels wide along each axis, the last ones beyond the volume.
VolumeGrid CellsOf(const VolumeGrid& voxels, int merge);

/// Voxels, [z][y][x] of a grid along the world's axes, of the density with which their tissue
/// attenuates as their HU say at the beam's effective energy; cells are their means.
Object MakeObject(const VolumeGrid& voxels, int merge, HostView3<const float> hounsfield,
                  const Beam& beam, const CrossSections& sections);

}  // namespace isocenter::scatter
