#include "proto/dicom/data_set_scanner.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::dicom {
namespace {

constexpr uint32_t kUndefined = 0xffffffff;
constexpr size_t kHeaderBytes = 8, kLongHeaderBytes = 12;
constexpr uint16_t kStructure = 0xfffe;  // group of items and delimiters
constexpr uint16_t kItem = 0xe000, kEndOfItem = 0xe00d, kEndOfSequence = 0xe0dd;
constexpr uint16_t kPixelGroup = 0x7fe0, kPixelData = 0x0010;

// VRs with a length of 16 bits, and those with one of 32. Source: PS3.5, 6.2 and 7.1.2.
constexpr absl::string_view kShortVrs =
    "AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US";
constexpr absl::string_view kLongVrs = "OB OD OF OL OV OW SQ SV UC UN UR UT UV";

bool IsOneOf(absl::string_view vr, absl::string_view vrs) {
  for (size_t i = 0; i < vrs.size(); i += 3) {
    if (vrs.substr(i, 2) == vr) return true;
  }
  return false;
}

/// Whether the bytes are the tag of an item or delimiter, little endian, or as many as there are of
/// them its beginning.
bool BeginsLikeItem(absl::string_view bytes) {
  for (const absl::string_view tag :
       {absl::string_view("\xfe\xff\x00\xe0", 4), absl::string_view("\xfe\xff\x0d\xe0", 4),
        absl::string_view("\xfe\xff\xdd\xe0", 4)}) {
    if (bytes.substr(0, 4) == tag.substr(0, std::min<size_t>(bytes.size(), 4))) return true;
  }
  return false;
}

}  // namespace

size_t ExplicitHeaderBytes(absl::string_view vr) {
  if (IsOneOf(vr, kShortVrs)) return kHeaderBytes;
  return IsOneOf(vr, kLongVrs) ? kLongHeaderBytes : 0;
}

DataSetScanner::DataSetScanner(const DataSetEncoding& encoding, const DataSetLimits& limits)
    : big_endian_(encoding.big_endian), limits_(limits), header_needed_(kHeaderBytes) {
  frames_.push_back({Kind::kElements, encoding.implicit_vr, /*delimited=*/false, limits.bytes});
}

uint32_t DataSetScanner::Number(size_t offset, size_t bytes) const {
  const bool big_endian = big_endian_ && !frames_.back().implicit_vr;
  uint32_t number = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const size_t at = offset + (big_endian ? i : bytes - 1 - i);
    number = number << 8 | std::to_integer<uint32_t>(header_[at]);
  }
  return number;
}

absl::Status DataSetScanner::Refuse(const std::string& what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("DICOM data set, byte ", position_ - int64_t(header_size_), ": ", what));
}

absl::Status DataSetScanner::CheckLength(int64_t begin, uint32_t length) const {
  const int64_t room = frames_.back().end - begin;
  if (int64_t{length} <= room) return absl::OkStatus();
  return Refuse(absl::StrCat("a length is ", length, "; legal is up to ", room,
                             ", the end of what it is in"));
}

absl::Status DataSetScanner::Take(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (value_left_ > 0) {
      const int64_t taken = std::min<int64_t>(value_left_, bytes.size());
      Skip(taken);
      bytes = bytes.subspan(taken);
      continue;
    }
    const bool begins = header_size_ == 0 && !peeked_length_;
    if (begins && frames_.size() > 1 && frames_.back().end - position_ < int64_t{kHeaderBytes}) {
      return Refuse("an item or sequence ends inside of an element, or has no delimiter");
    }
    const size_t taken = std::min(header_needed_ - header_size_, bytes.size());
    std::copy_n(bytes.begin(), taken, header_.begin() + header_size_);
    header_size_ += taken;
    position_ += taken;
    bytes = bytes.subspan(taken);
    if (header_size_ < header_needed_) break;
    ISO_RETURN_IF_ERROR(peeked_length_ ? OnBeginOfValue() : OnHeader());
  }
  return absl::OkStatus();
}

absl::Status DataSetScanner::End() const {
  if (frames_.size() == 1 && value_left_ == 0 && !peeked_length_ && header_size_ < kHeaderBytes) {
    return absl::OkStatus();
  }
  return Refuse("it ends inside of an element");
}

void DataSetScanner::Skip(int64_t bytes) {
  value_left_ -= bytes;
  position_ += bytes;
  if (value_left_ == 0) Next();
}

absl::Status DataSetScanner::OnHeader() {
  // A value that is shorter than a tag, in a sequence's place, would be read on into what follows.
  if (!short_value_.empty()) {
    const auto* const next = reinterpret_cast<const char*>(header_.data());
    if (BeginsLikeItem(absl::StrCat(short_value_, absl::string_view(next, 4)))) {
      return Refuse("an item begins inside of a value");
    }
    short_value_.clear();
  }
  const Tag tag = TagOfHeader();
  if (header_size_ == kHeaderBytes && ++elements_ > limits_.elements) {
    return Refuse(absl::StrCat("more elements; legal is up to ", limits_.elements));
  }
  return frames_.back().kind == Kind::kElements ? OnElement(tag) : OnItem(tag);
}

absl::Status DataSetScanner::OnItem(Tag tag) {
  const uint32_t length = Number(4, 4);
  if (tag == Tag{kStructure, kEndOfSequence}) return OnDelimiter();
  if (tag != Tag{kStructure, kItem}) {
    return Refuse(
        absl::StrFormat("(%04x,%04x) in a sequence; legal are items", tag.group, tag.element));
  }
  const Frame& sequence = frames_.back();
  if (sequence.kind == Kind::kItems) {
    return Open(Kind::kElements, sequence.implicit_vr, position_, length);
  }
  if (length == kUndefined) return Refuse("a fragment of pixel data without a length");
  return BeginValue(length);
}

absl::Status DataSetScanner::OnElement(Tag tag) {
  if (tag == Tag{kStructure, kEndOfItem}) return OnDelimiter();
  if (tag.group == kStructure) {
    return Refuse(absl::StrFormat("(%04x,%04x) between elements", tag.group, tag.element));
  }
  return frames_.back().implicit_vr ? OnImplicit(tag, Number(4, 4)) : OnExplicit(tag);
}

absl::Status DataSetScanner::OnImplicit(Tag tag, uint32_t length) {
  const bool is_pixels = tag.group == kPixelGroup && tag.element <= kPixelData;
  if (length == kUndefined) {
    if (is_pixels) return Refuse("pixel data without a length in implicit VR");
    return Open(Kind::kItems, /*implicit_vr=*/true, position_, length);
  }
  if (is_pixels || length == 0) return BeginValue(length);
  ISO_RETURN_IF_ERROR(CheckLength(position_, length));
  // Whether it is a sequence, only a dictionary knows, or its value.
  peeked_length_ = length;
  header_size_ = 0;
  header_needed_ = std::min<size_t>(length, 4);
  return absl::OkStatus();
}

absl::Status DataSetScanner::OnBeginOfValue() {
  const uint32_t length = *peeked_length_;
  const absl::string_view begin(reinterpret_cast<const char*>(header_.data()), header_size_);
  peeked_length_.reset();
  if (!BeginsLikeItem(begin)) return BeginValue(length - uint32_t(header_size_));
  if (header_size_ < 4) {
    short_value_ = std::string(begin);
    return BeginValue(0);
  }
  if (Number(2, 2) != kItem || length < kHeaderBytes) {
    return Refuse("a value begins like an item and is none");
  }
  ISO_RETURN_IF_ERROR(Open(Kind::kItems, /*implicit_vr=*/true, position_ - 4, length));
  header_size_ = 4;  // of the first item's header
  return absl::OkStatus();
}

absl::Status DataSetScanner::OnExplicit(Tag tag) {
  const std::string vr(reinterpret_cast<const char*>(&header_[4]), 2);
  const size_t header_bytes = ExplicitHeaderBytes(vr);
  if (header_bytes == kHeaderBytes) return BeginValue(Number(6, 2));
  if (header_bytes == 0) {
    return Refuse(absl::StrFormat("(%04x,%04x) has VR '%s'; legal are those of DICOM PS3.5",
                                  tag.group, tag.element, absl::CHexEscape(vr)));
  }
  if (header_size_ < kLongHeaderBytes) {
    header_needed_ = kLongHeaderBytes;
    return absl::OkStatus();
  }
  const uint32_t length = Number(8, 4);
  if (vr == "SQ") return Open(Kind::kItems, /*implicit_vr=*/false, position_, length);
  if (length != kUndefined) return BeginValue(length);
  if (vr == "UN") return Open(Kind::kItems, /*implicit_vr=*/true, position_, length);
  if ((vr == "OB" || vr == "OW") && tag == Tag{kPixelGroup, kPixelData}) {
    return Open(Kind::kFragments, /*implicit_vr=*/false, position_, length);
  }
  return Refuse(absl::StrFormat("(%04x,%04x) of VR %s has no length", tag.group, tag.element, vr));
}

absl::Status DataSetScanner::OnDelimiter() {
  if (!frames_.back().delimited) {
    return Refuse("a delimiter where an item or sequence has a length");
  }
  if (const uint32_t length = Number(4, 4); length != 0) {
    return Refuse(absl::StrCat("a delimiter has length ", length, "; legal is 0"));
  }
  Close();
  Next();
  return absl::OkStatus();
}

absl::Status DataSetScanner::Open(Kind kind, bool implicit_vr, int64_t begin, uint32_t length) {
  const bool delimited = length == kUndefined;
  if (!delimited) ISO_RETURN_IF_ERROR(CheckLength(begin, length));
  if (kind != Kind::kElements && ++depth_ > limits_.depth) {
    return Refuse(
        absl::StrCat("sequences are nested deeper; legal is up to ", limits_.depth, " levels"));
  }
  frames_.push_back(
      {kind, implicit_vr, delimited, delimited ? frames_.back().end : begin + int64_t{length}});
  Next();
  return absl::OkStatus();
}

absl::Status DataSetScanner::BeginValue(uint32_t length) {
  ISO_RETURN_IF_ERROR(CheckLength(position_, length));
  value_left_ = length;
  if (length == 0) Next();
  header_size_ = 0;
  return absl::OkStatus();
}

void DataSetScanner::Next() {
  header_size_ = 0;
  header_needed_ = kHeaderBytes;
  while (!frames_.back().delimited && frames_.size() > 1 && frames_.back().end == position_)
    Close();
}

void DataSetScanner::Close() {
  if (frames_.back().kind != Kind::kElements) --depth_;
  frames_.pop_back();
}

}  // namespace isocenter::dicom
