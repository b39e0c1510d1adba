#include "proto/wire/calibration_file.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <span>

#include "absl/strings/str_cat.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are written as they are");

constexpr absl::string_view kMagic = "ISOCAL01";
constexpr size_t kLengthAt = 8, kMessageCrcAt = 16, kHeaderCrcAt = 20;

uint32_t Checksum(absl::string_view bytes) {
  return Crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

absl::Status NoSuchFile(absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat(why, "; legal is a file of a calibration set, as it was written"));
}

/// What was measured, and left out because it is not known here, would be missing in volumes.
absl::Status CheckAllIsKnown(v1::CalibrationSet& set) {
  const size_t bytes = set.ByteSizeLong();
  set.DiscardUnknownFields();
  const size_t known = set.ByteSizeLong();
  if (known == bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the calibration has ", bytes - known,
      " bytes of parts that this version does not know; legal are those that it does"));
}

}  // namespace

absl::StatusOr<CalibrationFileHeader> ParseCalibrationFileHeader(absl::string_view bytes) {
  if (bytes.size() < kCalibrationHeaderBytes) {
    return NoSuchFile(absl::StrCat("the calibration has ", bytes.size(), " bytes, and its header ",
                                   kCalibrationHeaderBytes));
  }
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return NoSuchFile(absl::StrCat("the calibration does not begin with ", kMagic));
  }
  CalibrationFileHeader header;
  uint32_t header_crc32c = 0;
  std::memcpy(&header.message_bytes, bytes.data() + kLengthAt, sizeof header.message_bytes);
  std::memcpy(&header.crc32c, bytes.data() + kMessageCrcAt, sizeof header.crc32c);
  std::memcpy(&header_crc32c, bytes.data() + kHeaderCrcAt, sizeof header_crc32c);
  if (header_crc32c != Checksum(bytes.substr(0, kHeaderCrcAt))) {
    return NoSuchFile("the checksum of the calibration's header is wrong");
  }
  constexpr uint64_t kMost = kMostCalibrationFileBytes - kCalibrationHeaderBytes;
  if (header.message_bytes > kMost) {
    return absl::InvalidArgumentError(absl::StrCat("the calibration has ", header.message_bytes,
                                                   " bytes; legal is at most ", kMost));
  }
  return header;
}

std::string CalibrationFile(const v1::CalibrationSet& set) {
  const uint64_t message_bytes = set.ByteSizeLong();
  std::string file(kCalibrationHeaderBytes + message_bytes, '\0');
  set.SerializeWithCachedSizesToArray(
      reinterpret_cast<uint8_t*>(file.data() + kCalibrationHeaderBytes));
  const uint32_t crc32c = Checksum(absl::string_view(file).substr(kCalibrationHeaderBytes));
  std::memcpy(file.data(), kMagic.data(), kMagic.size());
  std::memcpy(file.data() + kLengthAt, &message_bytes, sizeof message_bytes);
  std::memcpy(file.data() + kMessageCrcAt, &crc32c, sizeof crc32c);
  const uint32_t header_crc32c = Checksum(absl::string_view(file).substr(0, kHeaderCrcAt));
  std::memcpy(file.data() + kHeaderCrcAt, &header_crc32c, sizeof header_crc32c);
  return file;
}

absl::StatusOr<v1::CalibrationSet> ParseCalibrationFile(absl::string_view bytes) {
  ISO_ASSIGN_OR_RETURN(const CalibrationFileHeader header, ParseCalibrationFileHeader(bytes));
  const absl::string_view message = bytes.substr(kCalibrationHeaderBytes);
  if (message.size() != header.message_bytes) {
    return NoSuchFile(absl::StrCat("the calibration has ", message.size(),
                                   " bytes after its header, which says ", header.message_bytes));
  }
  if (Checksum(message) != header.crc32c) {
    return NoSuchFile("the checksum of the calibration is wrong");
  }
  ISO_RETURN_IF_ERROR(CheckCalibrationMessage(message));
  v1::CalibrationSet set;
  if (!set.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return absl::InvalidArgumentError(
        "the calibration cannot be parsed; legal is a serialized CalibrationSet, its texts in "
        "UTF-8");
  }
  ISO_RETURN_IF_ERROR(CheckAllIsKnown(set));
  return set;
}

absl::Status VerifyCalibrationFile(const std::string& path) {
  ISO_RETURN_IF_ERROR(CheckRegularFile("the calibration", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::PermissionDeniedError(absl::StrCat("cannot open ", path));
  std::string piece(1 << 20, '\0');
  const auto read = [&](size_t most) {
    file.read(piece.data(), static_cast<std::streamsize>(most));
    return absl::string_view(piece).substr(0, static_cast<size_t>(file.gcount()));
  };
  ISO_ASSIGN_OR_RETURN(const CalibrationFileHeader header,
                       ParseCalibrationFileHeader(read(kCalibrationHeaderBytes)));
  uint64_t bytes = 0;
  uint32_t crc32c = 0;
  for (absl::string_view next = read(piece.size()); !next.empty(); next = read(piece.size())) {
    bytes += next.size();
    crc32c = ExtendCrc32c(crc32c, std::as_bytes(std::span(next.data(), next.size())));
  }
  if (bytes == header.message_bytes && crc32c == header.crc32c) return absl::OkStatus();
  return NoSuchFile(absl::StrCat("length or checksum of the calibration ", path, " is wrong"));
}

absl::StatusOr<v1::CalibrationSet> ReadCalibrationFile(absl::string_view name,
                                                       const std::string& path) {
  ISO_ASSIGN_OR_RETURN(const std::string bytes,
                       ReadRegularFile(name, path, kMostCalibrationFileBytes));
  absl::StatusOr<v1::CalibrationSet> set = ParseCalibrationFile(bytes);
  if (set.ok()) return set;
  return absl::Status(set.status().code(),
                      absl::StrCat(name, " is ", path, ": ", set.status().message()));
}

}  // namespace isocenter::wire
