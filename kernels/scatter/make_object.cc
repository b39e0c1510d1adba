#include "kernels/scatter/make_object.h"

#include <utility>
#include <vector>

namespace isocenter::scatter {

VolumeGrid CellsOf(const VolumeGrid& voxels, int merge) {
  const auto count = [merge](int n) { return (n + merge - 1) / merge; };
  VolumeGrid cells = voxels;
  cells.nx = count(voxels.nx);
  cells.ny = count(voxels.ny);
  cells.nz = count(voxels.nz);
  const double shift = (merge - 1) / 2.0;
  cells.origin = voxels.VoxelToWorld(shift, shift, shift);
  cells.spacing = merge * voxels.spacing;
  return cells;
}

Object MakeObject(const VolumeGrid& voxels, int merge, HostView3<const float> hounsfield,
                  const Beam& beam, const CrossSections& sections) {
  const VolumeGrid grid = CellsOf(voxels, merge);
  std::vector<Object::Cell> cells(static_cast<size_t>(grid.voxels()));
  const PerTissue attenuation = sections.Total(beam.effective_kev);
  const double bone_density = attenuation[kWater] / attenuation[kBone];  // of 0 HU
  const double share = 1.0 / (static_cast<double>(merge) * merge * merge);
  for (int64_t k = 0; k < voxels.nz; ++k) {
    for (int64_t j = 0; j < voxels.ny; ++j) {
      for (int64_t i = 0; i < voxels.nx; ++i) {
        const double hu = hounsfield(k, j, i);
        if (!(hu >= kAirHu)) continue;
        const double relative = 1 + hu / 1000;
        Object::Cell& cell = cells[(k / merge * grid.ny + j / merge) * grid.nx + i / merge];
        const bool bone = hu >= kBoneHu;
        cell[bone ? kBone : kWater] +=
            static_cast<float>(share * relative * (bone ? bone_density : 1));
      }
    }
  }
  return {grid, std::move(cells)};
}

}  // namespace isocenter::scatter
