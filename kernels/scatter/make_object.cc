#include "kernels/scatter/make_object.h"

#include <utility>
#include <vector>

namespace isocenter::scatter {

Object MakeObject(const VolumeGrid& grid, HostView3<const float> hounsfield, const Beam& beam,
                  const CrossSections& sections) {
  std::vector<Object::Cell> cells(static_cast<size_t>(grid.voxels()));
  const PerTissue attenuation = sections.Total(beam.effective_kev);
  const double bone_density = attenuation[kWater] / attenuation[kBone];  // of 0 HU
  for (int64_t k = 0; k < grid.nz; ++k) {
    for (int64_t j = 0; j < grid.ny; ++j) {
      for (int64_t i = 0; i < grid.nx; ++i) {
        const double hu = hounsfield(k, j, i);
        if (!(hu >= kAirHu)) continue;
        const double relative = 1 + hu / 1000;
        const bool bone = hu >= kBoneHu;
        cells[(k * grid.ny + j) * grid.nx + i][bone ? kBone : kWater] =
            static_cast<float>(relative * (bone ? bone_density : 1));
      }
    }
  }
  return {grid, std::move(cells)};
}

}  // namespace isocenter::scatter
