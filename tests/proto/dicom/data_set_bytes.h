// Data sets, written byte by byte as they may not be written.
#pragma once

#include <cstdint>
#include <string>

namespace isocenter::dicom {

constexpr uint32_t kUndefinedLength = 0xffffffff;

/// Little endian.
inline std::string Bytes(uint32_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

/// A tag as its number, e.g. 0x00080005.
inline std::string Tag(uint32_t tag) { return Bytes(tag >> 16, 2) + Bytes(tag & 0xffff, 2); }

/// The header of an element in implicit VR, of an item or of a delimiter.
inline std::string Header(uint32_t tag, uint32_t length) { return Tag(tag) + Bytes(length, 4); }
inline std::string Implicit(uint32_t tag, const std::string& value) {
  return Header(tag, static_cast<uint32_t>(value.size())) + value;
}
inline std::string Item(const std::string& content) { return Implicit(0xfffee000, content); }
inline std::string EndOfItem() { return Header(0xfffee00d, 0); }
inline std::string EndOfSequence() { return Header(0xfffee0dd, 0); }

/// The header of an element in explicit VR.
inline std::string Header(uint32_t tag, const std::string& vr, uint32_t length) {
  const bool is_long = vr == "SQ" || vr == "UN" || vr == "OB" || vr == "OW" || vr == "UT";
  return Tag(tag) + vr + (is_long ? Bytes(0, 2) + Bytes(length, 4) : Bytes(length, 2));
}
inline std::string Explicit(uint32_t tag, const std::string& vr, const std::string& value) {
  return Header(tag, vr, static_cast<uint32_t>(value.size())) + value;
}

/// Sequences in each other, none of them with a length: 20 bytes for each, 16 where the VR is
/// implicit, and as much again for the delimiters.
inline std::string NestedSequences(int levels, bool implicit_vr, bool delimited = true) {
  constexpr uint32_t kSequence = 0x00081115;  // Referenced Series Sequence
  const std::string begin = (implicit_vr ? Header(kSequence, kUndefinedLength)
                                         : Header(kSequence, "SQ", kUndefinedLength)) +
                            Header(0xfffee000, kUndefinedLength);
  const std::string end = EndOfItem() + EndOfSequence();
  std::string bytes;
  for (int i = 0; i < levels; ++i) bytes += begin;
  for (int i = 0; i < levels && delimited; ++i) bytes += end;
  return bytes;
}

}  // namespace isocenter::dicom
