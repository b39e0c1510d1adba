#include "server/cluster_index/text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace isocenter::cluster_index {
namespace {

/// Bytes of the legal character at the beginning of `text`, 0: there is none. Source: Unicode 15,
/// table 3-7.
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0), second = byte(1);
  if (first < 0x80) return first == 0 ? 0 : 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool is_short = first == 0xe0 && second < 0xa0;
    const bool is_surrogate = first == 0xed && second > 0x9f;
    return continues(1) && continues(2) && !is_short && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool is_short = first == 0xf0 && second < 0x90;
    const bool is_beyond = first == 0xf4 && second > 0x8f;
    return continues(1) && continues(2) && continues(3) && !is_short && !is_beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string Clean(absl::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    absl::StrAppend(&clean, bytes == 0 ? "\xef\xbf\xbd" : text.substr(0, bytes));
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return clean;
}

std::string ArrayOf(const std::vector<std::string>& items) {
  std::string array = "{";
  for (const std::string& item : items) {
    if (array.size() > 1) array += ',';
    array += '"';
    for (const char c : item) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
  return array + '}';
}

}  // namespace isocenter::cluster_index
