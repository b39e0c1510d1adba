#include "client/trace_parent.h"

#include "absl/strings/str_cat.h"

namespace isocenter::client {

absl::Status CheckTraceParent(absl::string_view text) {
  constexpr size_t kLength = 55;
  bool legal = text.size() == kLength;
  for (size_t i = 0; i < text.size() && legal; ++i) {
    const char c = text[i];
    const bool is_dash = i == 2 || i == 35 || i == 52;
    legal = is_dash ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  }
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the traceparent is '", text.substr(0, 100),
      "'; legal is VERSION-TRACE-SPAN-FLAGS of 2, 32, 16 and 2 digits of 0-9 and a-f, e.g. "
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
}

}  // namespace isocenter::client
