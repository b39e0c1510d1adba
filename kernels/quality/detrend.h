// What is left of a block of voxels without its trend: the noise, and structure finer than the
// block.
#pragma once

#include <span>

namespace isocenter::quality {

struct BlockExtent {
  int n[3];  // x, y, z
  int count() const { return n[0] * n[1] * n[2]; }
};

/// Takes out the polynomial of second degree; an axis of fewer than 3 voxels has none. `values` has
/// x fastest. Returns the degrees of freedom that this takes.
int Detrend(std::span<double> values, const BlockExtent& e);

}  // namespace isocenter::quality
