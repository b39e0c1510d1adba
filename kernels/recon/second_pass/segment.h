// What a first volume, in HU, says of metal, tissue and bone.
#pragma once

#include <cstdint>
#include <span>

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
/// more, if they are least_mm3 together. A piece whose densest least_mm3 are less than 0.35 times
/// as dense as the densest piece's are a streak of that and none. Returns the number of voxels.
/// Both volumes are [z][y][x] of `grid`. Errors: FAILED_PRECONDITION (more than kMostMetalShare).
absl::StatusOr<int64_t> FindMetal(const MetalSettings& settings, const VolumeGrid& grid,
                                  HostView3<const float> hounsfield, HostView3<float> metal);

/// Pieces of `metal` (as FindMetal makes it) that hang together by voxels' faces. It is changed
/// while they are counted, and as before afterwards. Host memory: FindMetalBytes at most.
int64_t CountPieces(const VolumeGrid& grid, HostView3<float> metal);

/// What a model of an object has of a voxel, attenuation in 1/mm: air below air_hu is nothing, soft
/// tissue from tissue_hu to bone_hu is water, everything else (bone, edges to air) as it is. After
/// Meyer et al., Med. Phys. 37 (2010) 5482.
class TissueClasses {
 public:
  /// `scale` must outlive it.
  TissueClasses(const MetalSettings& settings, const ops::HounsfieldScale& scale)
      : settings_(settings),
        scale_(scale),
        water_(static_cast<float>(ops::AttenuationOf(scale, 0))) {}
  float water() const { return water_; }
  float Attenuation(float hu) const {
    if (hu >= settings_.tissue_hu && hu < settings_.bone_hu) return water_;
    return hu < settings_.air_hu ? 0.f : static_cast<float>(ops::AttenuationOf(scale_, hu));
  }
  /// The same of many, `hu.size()` of them.
  void Attenuations(std::span<const float> hu, float* attenuations) const;

 private:
  const MetalSettings settings_;
  const ops::HounsfieldScale& scale_;
  const float water_;
};

/// What metal is to be replaced with: its TissueClasses, and water where metal is; attenuation in
/// 1/mm, in place.
void MakePrior(const MetalSettings& settings, const ops::HounsfieldScale& scale,
               HostView3<const float> metal, HostView3<float> volume);

/// Metal's voxels become what they are in `metal`.
void RestoreMetal(HostView3<const float> metal, HostView3<float> volume);

/// Bone beyond twice as dense as that of the table is something else.
inline constexpr double kMostBoneFraction = 2;

/// Voxels of which MakeBone would find some bone.
int64_t CountBone(const ops::BoneTable& table, HostView3<const float> volume);
/// The volume's share of the table's bone, in place.
void MakeBone(const ops::BoneTable& table, HostView3<float> volume);

}  // namespace isocenter::recon
