// Sizes of memory and disk for people.
#pragma once

#include <cstdint>
#include <string>

namespace isocenter {

/// "1.5 GiB", "512 bytes": four digits in the largest binary unit that leaves at least 1.
std::string BytesText(int64_t bytes);

}  // namespace isocenter
