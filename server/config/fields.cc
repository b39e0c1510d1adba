#include "server/config/fields.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace isocenter::config {
namespace {

/// Whole numbers as they are written in a configuration: 1048576, not 1.04858e+06.
std::string Number(double value) {
  constexpr double kExact = 1LL << 53;
  const bool whole = value == std::floor(value) && std::abs(value) <= kExact;
  return whole ? absl::StrCat(static_cast<int64_t>(value)) : absl::StrCat(value);
}

}  // namespace

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Illegal(field, Number(value), absl::StrCat(Number(low), " to ", Number(high)));
}

}  // namespace isocenter::config
