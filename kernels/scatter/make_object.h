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

/// Cells are the voxels, [z][y][x] of a grid along the world's axes, of the density with which
/// their tissue attenuates as their HU say at the beam's effective energy.
Object MakeObject(const VolumeGrid& grid, HostView3<const float> hounsfield, const Beam& beam,
                  const CrossSections& sections);

}  // namespace isocenter::scatter
