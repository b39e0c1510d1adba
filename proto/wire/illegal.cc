#include "proto/wire/illegal.h"

#include "absl/strings/str_cat.h"

namespace isocenter::wire {

absl::Status Illegal(absl::string_view field, absl::string_view value, absl::string_view legal) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; legal is ", legal));
}

}  // namespace isocenter::wire
