// What a first volume, in HU, says of metal, tissue and bone.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/calibration.h"
#include "kernels/ops/hounsfield.h"
#include "kernels/recon/second_pass/settings.h"

namespace isocenter::recon {

/// Where more of a volume's voxels would be metal, its HU are not what they are called.
inline constexpr double kMostMetalShare = 0.1;

/// Host memory that FindMetal takes for a while, at most.
int64_t FindMetalBytes(const VolumeGrid& grid);

/// Metal keeps its HU in `metal`, all else becomes 0: of every connected piece (by voxels' faces)
/// of at least metal_edge_hu that has a voxel of metal_hu, the voxels of half its upper quartile or
/// more, if they are least_mm3 together. A piece whose quartile is less than 0.35 of the densest
/// piece's is a streak of that and none. Returns the number of voxels.
/// Both volumes are [z][y][x] of `grid`. Errors: FAILED_PRECONDITION (more than kMostMetalShare).
absl::StatusOr<int64_t> FindMetal(const MetalSettings& settings, const VolumeGrid& grid,
                                  HostView3<const float> hounsfield, HostView3<float> metal);

/// What metal is to be replaced with: air below air_hu, water from tissue_hu to bone_hu and where
/// metal is, everything else as it is; attenuation in 1/mm, in place. After Meyer et al., Med.
/// Phys. 37 (2010) 5482.
void MakePrior(const MetalSettings& settings, const ops::HounsfieldScale& scale,
               HostView3<const float> metal, HostView3<float> volume);

/// Bone beyond twice as dense as that of the table is something else.
inline constexpr double kMostBoneFraction = 2;

/// Whether MakeBone would find any.
bool HasBone(const ops::BoneTable& table, HostView3<const float> volume);
/// The volume's share of the table's bone, in place.
void MakeBone(const ops::BoneTable& table, HostView3<float> volume);

}  // namespace isocenter::recon
