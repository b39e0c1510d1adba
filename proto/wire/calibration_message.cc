// What a serialized set would take when it is parsed: small fields grow to some 30 times their
// length, so that only what is long for a reason may be long.
#include <google/protobuf/io/coded_stream.h>

#include "absl/strings/str_cat.h"
#include "kernels/geometry/trajectory.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"

namespace isocenter::wire {
namespace {

using google::protobuf::io::CodedInputStream;
using Set = v1::CalibrationSet;

constexpr int64_t kMostMapBytes = int64_t{4} * 8192 * 8192;
// Indices below 2^26 take 4 bytes at most.
constexpr auto kMostDefectBytes = static_cast<int64_t>(kMostDefectiveShare * kMostMapBytes);
// 12 values of 8 bytes, and some for field keys and lengths.
constexpr int64_t kMostGeometryBytes = int64_t{96} * kMaxViews + 64;
constexpr int64_t kMostOtherBytes = 256 << 10;

enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

/// A field of a message: its number, and what it holds where it has a length.
struct Field {
  int number = 0;
  int64_t bytes = 0;  // all of it, with its tag
  absl::string_view content;
};

class Fields {
 public:
  explicit Fields(absl::string_view message)
      : message_(message),
        input_(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size())) {
  }

  /// False at the end, or where the message is malformed.
  bool Next(Field& field) {
    const int from = input_.CurrentPosition();
    if (from == static_cast<int>(message_.size())) return false;
    const uint32_t tag = input_.ReadTag();
    field.number = static_cast<int>(tag >> 3);
    field.content = {};
    malformed_ = field.number == 0 || !Skip(tag & 7, field);
    field.bytes = input_.CurrentPosition() - from;
    return !malformed_;
  }
  bool malformed() const { return malformed_; }

 private:
  bool Skip(uint32_t type, Field& field) {
    uint64_t ignored = 0;
    uint32_t length = 0;
    switch (type) {
      case kVarint:
        return input_.ReadVarint64(&ignored);
      case kFixed64:
        return input_.Skip(8);
      case kFixed32:
        return input_.Skip(4);
      case kLengthDelimited: {
        if (!input_.ReadVarint32(&length)) return false;
        const int at = input_.CurrentPosition();
        if (length > message_.size() - static_cast<size_t>(at)) return false;
        field.content = message_.substr(static_cast<size_t>(at), length);
        return input_.Skip(static_cast<int>(length));
      }
      default:  // groups are not of proto3
        return false;
    }
  }

  const absl::string_view message_;
  CodedInputStream input_;
  bool malformed_ = false;
};

absl::Status Malformed(absl::string_view where) {
  return absl::InvalidArgumentError(
      absl::StrCat("the ", where, " is malformed; legal is a serialized CalibrationSet"));
}

absl::Status TooLong(absl::string_view part, int64_t bytes, int64_t most) {
  return absl::InvalidArgumentError(
      absl::StrCat(part, " has ", bytes, " bytes; legal is at most ", most));
}

/// The maps; what else the message holds counts as `other`.
absl::Status CheckResponseMessage(absl::string_view message, int64_t& maps, int64_t& other) {
  Fields fields(message);
  Field field;
  while (fields.Next(field)) {
    const bool is_map = field.number == v1::PixelResponse::kOffsetCountsFieldNumber ||
                        field.number == v1::PixelResponse::kAirCountsFieldNumber;
    (is_map ? maps : other) += is_map ? static_cast<int64_t>(field.content.size()) : field.bytes;
    if (is_map) other += field.bytes - static_cast<int64_t>(field.content.size());
  }
  return fields.malformed() ? Malformed("response") : absl::OkStatus();
}

}  // namespace

absl::Status CheckCalibrationMessage(absl::string_view message) {
  if (static_cast<int64_t>(message.size()) > kMostCalibrationFileBytes) {
    return TooLong("the set", static_cast<int64_t>(message.size()), kMostCalibrationFileBytes);
  }
  Fields fields(message);
  Field field;
  int64_t maps = 0, defects = 0, picture = 0, geometry = 0, other = 0;
  while (fields.Next(field)) {
    switch (field.number) {
      case Set::kResponseFieldNumber:
        if (absl::Status legal = CheckResponseMessage(field.content, maps, other); !legal.ok()) {
          return legal;
        }
        break;
      case Set::kDefectsFieldNumber:
        defects += field.bytes;
        break;
      case Set::kGeometryFieldNumber:
        geometry += field.bytes;
        break;
      case Set::kPicturePngFieldNumber:
        picture += static_cast<int64_t>(field.content.size());
        break;
      default:
        other += field.bytes;
    }
  }
  if (fields.malformed()) return Malformed("set");
  if (maps > 2 * kMostMapBytes) return TooLong("response", maps, 2 * kMostMapBytes);
  if (defects > kMostDefectBytes) return TooLong("defects", defects, kMostDefectBytes);
  if (picture > kMostPictureBytes) return TooLong("picture_png", picture, kMostPictureBytes);
  if (geometry > kMostGeometryBytes) return TooLong("geometry", geometry, kMostGeometryBytes);
  if (other > kMostOtherBytes) {
    return TooLong("all but maps, defects, geometry and picture", other, kMostOtherBytes);
  }
  return absl::OkStatus();
}

}  // namespace isocenter::wire
