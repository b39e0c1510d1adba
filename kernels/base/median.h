// The middle one of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace isocenter {

/// Of an even number the upper of the two in the middle. Leaves the values in another order.
/// `values` is not empty.
template <class T>
T MedianOf(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace isocenter
