#include "kernels/base/identifier.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace isocenter {

bool IsIdentifier(absl::string_view text, size_t least) {
  return text.size() >= least && text.size() <= kLongestIdentifier &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
         });
}

}  // namespace isocenter
