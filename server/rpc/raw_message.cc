#include "server/rpc/raw_message.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/message_limits.h"

namespace isocenter::rpc {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// Protobuf's way of reading pieces of memory.
class SliceStream : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit SliceStream(const std::vector<grpc::Slice>& slices) : slices_(slices) {}

  bool Next(const void** data, int* size) override {
    while (index_ < slices_.size()) {
      const grpc::Slice& slice = slices_[index_];
      if (offset_ < slice.size()) {
        *data = slice.begin() + offset_;
        *size = static_cast<int>(
            std::min<size_t>(slice.size() - offset_, std::numeric_limits<int>::max()));
        offset_ += *size;
        read_ += *size;
        return true;
      }
      ++index_;
      offset_ = 0;
    }
    return false;
  }
  void BackUp(int count) override {
    offset_ -= count;
    read_ -= count;
  }
  bool Skip(int count) override {
    const void* data;
    int size;
    while (count > 0) {
      if (!Next(&data, &size)) return false;
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return true;
  }
  int64_t ByteCount() const override { return read_; }

 private:
  const std::vector<grpc::Slice>& slices_;
  size_t index_ = 0, offset_ = 0;
  int64_t read_ = 0;
};

constexpr uint32_t Tag(int field, WireFormatLite::WireType type) {
  return WireFormatLite::MakeTag(field, type);
}
constexpr uint32_t kFrameTag =
    Tag(v1::AcquireRequest::kFrameFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kIndexTag = Tag(v1::Frame::kIndexFieldNumber, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kPixelsTag =
    Tag(v1::Frame::kPixelsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kCrcTag = Tag(v1::Frame::kCrc32CFieldNumber, WireFormatLite::WIRETYPE_FIXED32);
constexpr uint32_t kHasCrcTag =
    Tag(v1::Frame::kHasChecksumFieldNumber, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kMatrixTag =
    Tag(v1::Frame::kMeasuredMatrixFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kDoseTag = Tag(v1::Frame::kDoseFieldNumber, WireFormatLite::WIRETYPE_FIXED32);
constexpr uint32_t kPhaseTag = Tag(v1::Frame::kPhaseFieldNumber, WireFormatLite::WIRETYPE_FIXED32);

bool IsOtherMessage(uint32_t tag) {
  switch (WireFormatLite::GetTagFieldNumber(tag)) {
    case v1::AcquireRequest::kHeaderFieldNumber:
    case v1::AcquireRequest::kResumeFieldNumber:
    case v1::AcquireRequest::kFinishFieldNumber:
      return true;
    default:
      return false;
  }
}

struct PixelRange {
  int64_t first = 0, count = 0;
};

// Of a measured matrix, whose 12 numbers take about 100; of several, which are one.
constexpr int kLongestMatrixBytes = 1024;

/// The fields of a frame up to the current limit. Where a field comes twice the last one counts, as
/// everywhere in protobuf.
bool ReadFrame(CodedInputStream& in, v1::Frame& fields, PixelRange& pixels) {
  int matrix_bytes = 0;
  while (const uint32_t tag = in.ReadTag()) {
    uint32_t value = 0;
    int length = 0;
    switch (tag) {
      case kIndexTag:
        if (!in.ReadVarint32(&value)) return false;
        fields.set_index(value);
        break;
      case kPixelsTag:
        if (!in.ReadVarintSizeAsInt(&length)) return false;
        pixels = {in.CurrentPosition(), length};
        if (!in.Skip(length)) return false;
        break;
      case kCrcTag:
        if (!in.ReadLittleEndian32(&value)) return false;
        fields.set_crc32c(value);
        break;
      case kHasCrcTag: {
        uint64_t truth = 0;
        if (!in.ReadVarint64(&truth)) return false;
        fields.set_has_checksum(truth != 0);
        break;
      }
      case kDoseTag:
        if (!in.ReadLittleEndian32(&value)) return false;
        fields.set_dose(std::bit_cast<float>(value));
        break;
      case kPhaseTag:
        if (!in.ReadLittleEndian32(&value)) return false;
        fields.set_phase(std::bit_cast<float>(value));
        break;
      case kMatrixTag: {
        std::string matrix;
        if (!in.ReadVarintSizeAsInt(&length) || length > kLongestMatrixBytes - matrix_bytes ||
            !in.ReadString(&matrix, length) ||
            !fields.mutable_measured_matrix()->MergeFromString(matrix)) {
          return false;
        }
        matrix_bytes += length;
        break;
      }
      default:
        if (!WireFormatLite::SkipField(&in, tag)) return false;
    }
  }
  return in.ConsumedEntireMessage();
}

/// Whether the bytes begin as those of gRPC's two compressions do (RFC 1952, RFC 1950 with the
/// usual window), and as no AcquireRequest.
bool IsCompressed(const std::vector<grpc::Slice>& slices) {
  if (slices.empty() || slices[0].size() < 2) return false;
  const uint8_t first = slices[0].begin()[0], second = slices[0].begin()[1];
  return (first == 0x1f && second == 0x8b) || (first == 0x78 && (first * 256 + second) % 31 == 0);
}

}  // namespace

RawMessage::RawMessage(const grpc::ByteBuffer& buffer)
    : slices_(std::make_shared<std::vector<grpc::Slice>>()), bytes_(buffer.Length()) {
  if (buffer.Valid() && !buffer.Dump(slices_.get()).ok()) bytes_ = 0;
}

absl::Status RawMessage::NotAMessage() const {
  return absl::InvalidArgumentError(
      absl::StrCat("the message of ", bytes_,
                   " bytes is not an AcquireRequest; legal is valid, uncompressed protobuf, "
                   "whose texts are UTF-8",
                   IsCompressed(*slices_) ? ": it is compressed (gzip or deflate)" : ""));
}

absl::StatusOr<v1::AcquireRequest> RawMessage::Parse() const {
  if (bytes_ > kLongestHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the message has ", bytes_,
                                                   " bytes and is no frame; legal is at most ",
                                                   kLongestHeaderBytes));
  }
  v1::AcquireRequest message;
  SliceStream stream(*slices_);
  if (!message.ParseFromZeroCopyStream(&stream)) return NotAMessage();
  return message;
}

absl::Status RawMessage::ParseAs(google::protobuf::Message& message) const {
  SliceStream stream(*slices_);
  if (message.ParseFromZeroCopyStream(&stream)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the message of ", bytes_, " bytes is no ",
                                                 message.GetDescriptor()->name(),
                                                 "; legal is valid protobuf"));
}

absl::StatusOr<std::optional<RawMessage::Frame>> RawMessage::AsFrame() const {
  SliceStream stream(*slices_);
  CodedInputStream in(&stream);
  Frame frame;
  PixelRange pixels;
  bool is_frame = false;
  while (const uint32_t tag = in.ReadTag()) {
    if (IsOtherMessage(tag)) return AsParsedFrame();
    if (tag != kFrameTag) {  // a field of a later version
      if (!WireFormatLite::SkipField(&in, tag)) return NotAMessage();
      continue;
    }
    int length = 0;
    if (!in.ReadVarintSizeAsInt(&length) || in.CurrentPosition() + int64_t{length} > bytes_) {
      return NotAMessage();
    }
    const auto limit = in.PushLimit(length);
    if (!ReadFrame(in, frame.fields, pixels)) return NotAMessage();
    in.PopLimit(limit);
    is_frame = true;
  }
  if (!in.ConsumedEntireMessage()) return NotAMessage();
  if (!is_frame) return std::nullopt;
  frame.pixels = Pieces(pixels.first, pixels.count);
  frame.memory = slices_;
  return frame;
}

absl::StatusOr<std::optional<RawMessage::Frame>> RawMessage::AsParsedFrame() const {
  ISO_ASSIGN_OR_RETURN(v1::AcquireRequest message, Parse());
  if (!message.has_frame()) return std::nullopt;
  Frame frame;
  const auto pixels =
      std::make_shared<const std::string>(std::move(*message.mutable_frame()->mutable_pixels()));
  message.mutable_frame()->clear_pixels();
  frame.fields = std::move(*message.mutable_frame());
  frame.pixels = {std::as_bytes(std::span(*pixels))};
  frame.memory = pixels;
  return frame;
}

std::vector<std::span<const std::byte>> RawMessage::Pieces(int64_t first, int64_t count) const {
  std::vector<std::span<const std::byte>> pieces;
  int64_t begin = 0;  // of the slice
  for (const grpc::Slice& slice : *slices_) {
    const auto size = static_cast<int64_t>(slice.size());
    const int64_t from = std::max(first, begin), to = std::min(first + count, begin + size);
    if (from < to) {
      pieces.push_back(
          std::as_bytes(std::span(slice.begin() + (from - begin), static_cast<size_t>(to - from))));
    }
    begin += size;
  }
  return pieces;
}

}  // namespace isocenter::rpc
