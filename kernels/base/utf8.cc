#include "kernels/base/utf8.h"

#include <cstddef>

#include "absl/strings/str_format.h"

namespace isocenter {
namespace {

unsigned char At(absl::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

/// Bytes of the character that begins the text; 0: none does.
size_t CharacterBytes(absl::string_view text) {
  const unsigned char first = At(text, 0), second = At(text, 1);
  if (first < 0x80) return 1;
  const size_t bytes = first < 0xc2   ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  // Where the second byte has a narrower range than the others.
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (bytes == 0 || second < least || second > most) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if ((At(text, i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

}  // namespace

std::string NotUtf8(absl::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = CharacterBytes(text.substr(at));
    if (bytes == 0) {
      return absl::StrFormat("not UTF-8: byte 0x%02X at offset %d", At(text, at), at);
    }
    at += bytes;
  }
  return "";
}

}  // namespace isocenter
