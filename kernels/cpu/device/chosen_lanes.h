// Which lanes a mask chooses, as a table.
#pragma once

#include <array>
#include <cstdint>

namespace isocenter::cpu {

/// For each mask of 8 lanes, the lanes that are set, in order.
inline constexpr auto kChosenLanes = [] {
  std::array<std::array<uint8_t, 8>, 256> table{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    int count = 0;
    for (uint8_t lane = 0; lane < 8; ++lane) {
      if ((mask >> lane & 1) != 0) table[mask][count++] = lane;
    }
  }
  return table;
}();

}  // namespace isocenter::cpu
