#include "kernels/base/bytes_text.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace isocenter {

std::string BytesText(int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr double kStep = 1024;
  if (bytes < 1024) return absl::StrCat(bytes, bytes == 1 ? " byte" : " bytes");
  double value = static_cast<double>(bytes) / kStep;
  const char* const* unit = kUnits;
  // What four digits would round up to the next unit is in it.
  while (value >= kStep - 0.05 && unit + 1 != std::end(kUnits)) {
    value /= kStep;
    ++unit;
  }
  return absl::StrFormat("%.4g %s", value, *unit);
}

}  // namespace isocenter
