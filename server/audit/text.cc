#include "server/audit/text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace isocenter::audit {
namespace {

struct Character {
  size_t length = 0;  // in bytes; 0: there is none that XML takes
  uint32_t code = 0;
};

/// That in front of text that is not empty.
Character FirstOf(absl::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // that needs so many bytes
  const auto first = static_cast<uint8_t>(text.front());
  if (first < 0x80) return {1, first};
  if (first < 0xc0 || first > 0xf4) return {};
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < length) return {};
  uint32_t code = first & (0x7fu >> length);
  for (const char c : text.substr(1, length - 1)) {
    const auto next = static_cast<uint8_t>(c);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_none = code == 0xfffe || code == 0xffff || code > 0x10ffff;
  if (code < kLeast[length] || is_surrogate || is_none) return {};
  return {length, code};
}

/// C0 and C1 controls, and the separators of lines and paragraphs.
bool EndsLineOrControls(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

/// At most `most` bytes, not ending within a character.
absl::string_view Beginning(absl::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && most - end < 3 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::string Legal(absl::string_view text) {
  std::string legal;
  while (!text.empty()) {
    const Character first = FirstOf(text);
    if (first.length == 0) {
      legal += "\xef\xbf\xbd";
    } else if (EndsLineOrControls(first.code)) {
      legal += ' ';
    } else {
      absl::StrAppend(&legal, text.substr(0, first.length));
    }
    text.remove_prefix(std::max<size_t>(first.length, 1));
  }
  return legal;
}

std::string Bounded(absl::string_view text, size_t most) {
  const absl::string_view beginning = Beginning(text, most);
  const std::string legal = Legal(beginning);
  if (beginning.size() == text.size() && legal.size() <= most) return legal;
  return absl::StrCat(Beginning(legal, most), "... (cut, ", text.size(), " bytes)");
}

}  // namespace isocenter::audit
