// How far volumes are apart.
#pragma once

#include <cstdint>
#include <span>

namespace isocenter::bench {

struct VolumeError {
  double mean_square_hu = 0, largest_hu = 0;
  double other_integers = 0;  // share of voxels that differ when rounded to whole HU
};

/// Of attenuations; `hu` is HU per attenuation. Whole HU are rounded as RabbitCT does: down from
/// hu · value + 0.5.
VolumeError ErrorOf(std::span<const float> volume, std::span<const float> truth, double hu);

}  // namespace isocenter::bench
