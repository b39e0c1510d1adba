#include "server/config/fields.h"

#include "absl/strings/str_cat.h"

namespace isocenter::config {

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Illegal(field, absl::StrCat(value), absl::StrCat(low, " to ", high));
}

}  // namespace isocenter::config
