#include "tests/bench/ladder/errors.h"

#include <algorithm>
#include <cmath>

namespace isocenter::bench {

VolumeError ErrorOf(std::span<const float> volume, std::span<const float> truth, double hu) {
  VolumeError error;
  int64_t others = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double is = hu * volume[i], should = hu * truth[i], difference = is - should;
    error.mean_square_hu += difference * difference;
    error.largest_hu = std::max(error.largest_hu, std::abs(difference));
    others += std::floor(is + 0.5) != std::floor(should + 0.5);
  }
  const auto voxels = static_cast<double>(truth.size());
  error.mean_square_hu /= voxels;
  error.other_integers = static_cast<double>(others) / voxels;
  return error;
}

}  // namespace isocenter::bench
