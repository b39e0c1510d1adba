// The structure of DICOM data sets in bytes, bounded before a library reads them. Source: DICOM
// PS3.5, 7.1 to 7.5 and A.4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::dicom {

/// Bytes of an element before its value, where the VR is explicit: 8 or 12; 0: it is none of PS3.5.
size_t ExplicitHeaderBytes(absl::string_view vr);

/// How elements are written. Implicit VR is little endian.
struct DataSetEncoding {
  bool implicit_vr = false;
  bool big_endian = false;
};

struct DataSetLimits {
  int depth = 16;                                          // of sequences in each other
  int64_t elements = std::numeric_limits<int64_t>::max();  // items among them
  int64_t bytes = std::numeric_limits<int64_t>::max();     // within which all lengths lie
};

/// Follows a data set from its first byte to its last, in pieces of any size. What it lets through
/// has its lengths, items and delimiters in order, so that another reader cannot understand it
/// differently, and is nested no deeper than allowed. It is stricter than readers are: a sequence
/// or item of defined length holds no delimiter of its own, every VR is one of PS3.5, and where the
/// VR is implicit, a value that begins like an item is one. Takes no memory beyond the stack of
/// what is open.
///
/// Errors are INVALID_ARGUMENT and say at which byte what is not legal. After one it must not be
/// used.
class DataSetScanner {
 public:
  DataSetScanner(const DataSetEncoding& encoding, const DataSetLimits& limits);

  absl::Status Take(std::span<const std::byte> bytes);
  /// Nothing follows. Fewer than the 8 bytes of a header may be left over.
  absl::Status End() const;

  /// So many of the next bytes belong to a value and need not be looked at.
  int64_t skippable() const { return value_left_; }
  /// Instead of Take(); at most skippable().
  void Skip(int64_t bytes);

 private:
  enum class Kind { kElements, kItems, kFragments };
  struct Frame {
    Kind kind;
    bool implicit_vr;
    bool delimited;  // its length is undefined
    int64_t end;     // at the latest
  };
  struct Tag {
    uint16_t group, element;
    bool operator==(const Tag&) const = default;
  };

  uint32_t Number(size_t offset, size_t bytes) const;
  Tag TagOfHeader() const { return {uint16_t(Number(0, 2)), uint16_t(Number(2, 2))}; }
  absl::Status Refuse(const std::string& what) const;
  absl::Status CheckLength(int64_t begin, uint32_t length) const;

  absl::Status OnHeader();
  absl::Status OnItem(Tag tag);
  absl::Status OnElement(Tag tag);
  absl::Status OnImplicit(Tag tag, uint32_t length);
  absl::Status OnExplicit(Tag tag);
  absl::Status OnBeginOfValue();
  absl::Status OnDelimiter();
  absl::Status Open(Kind kind, bool implicit_vr, int64_t begin, uint32_t length);
  absl::Status BeginValue(uint32_t length);
  /// Ready for the next header; what ends here is closed.
  void Next();
  void Close();

  const bool big_endian_;
  const DataSetLimits limits_;
  std::vector<Frame> frames_;  // what is open, the data set first
  std::array<std::byte, 12> header_{};
  size_t header_size_ = 0, header_needed_;
  std::optional<uint32_t> peeked_length_;  // of the value whose beginning is in `header_`
  std::string short_value_;                // the last one, if it could be the beginning of a tag
  int64_t value_left_ = 0;
  int64_t position_ = 0;
  int64_t elements_ = 0;
  int depth_ = 0;
};

}  // namespace isocenter::dicom
