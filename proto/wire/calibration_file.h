// One set of calibrations as a file, which server and client share: a header of 24 bytes, then the
// serialized CalibrationSet. The header is "ISOCAL01", the message's length (8 bytes), its CRC-32C
// (4 bytes) and the CRC-32C of these 20 bytes; numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isocenter/v1/calibration.pb.h"

namespace isocenter::wire {

inline constexpr size_t kCalibrationHeaderBytes = 24;
/// Of a whole file: both maps and the defects of the largest detector, and the rest.
inline constexpr int64_t kMostCalibrationFileBytes =
    int64_t{2} * 4 * 8192 * 8192 + (int64_t{48} << 20);

/// What the header of a file says.
struct CalibrationFileHeader {
  uint64_t message_bytes = 0;
  uint32_t crc32c = 0;  // of the message
};
/// `bytes`: a file's first. Errors: DATA_LOSS (too short, another beginning, a wrong checksum),
/// INVALID_ARGUMENT (more bytes than are legal).
absl::StatusOr<CalibrationFileHeader> ParseCalibrationFileHeader(absl::string_view bytes);

/// A whole file. The set should be legal, which whoever reads it will check.
std::string CalibrationFile(const v1::CalibrationSet& set);

/// The set of a file's bytes, which are neither believed nor given memory before its checksum is
/// right and each part is of legal length; CalibrationFromProto says whether it is a legal set.
/// Errors: as ParseCalibrationFileHeader; DATA_LOSS (cut, longer than it says, the checksum),
/// INVALID_ARGUMENT (a part that is too long, no message of this kind).
absl::StatusOr<v1::CalibrationSet> ParseCalibrationFile(absl::string_view bytes);

/// The same of a file. `name` is the flag or the field that names it. Further errors: NOT_FOUND,
/// PERMISSION_DENIED.
absl::StatusOr<v1::CalibrationSet> ReadCalibrationFile(absl::string_view name,
                                                       const std::string& path);

/// What a file says of itself.
struct CalibrationFileLabel {
  CalibrationFileHeader header;
  v1::CalibrationSet set;          // as CalibrationLabel
  std::vector<std::string> parts;  // of what corrects: names of the set's fields, e.g. "response"
};
/// Reads past the maps, so that it takes no time: the message's checksum is not compared. Errors:
/// as ReadCalibrationFile.
absl::StatusOr<CalibrationFileLabel> ReadCalibrationLabel(const std::string& path);

/// Whether a file is as it was written, by its checksums; with little memory. Errors: as
/// ReadCalibrationFile.
absl::Status VerifyCalibrationFile(const std::string& path);

/// The parts of a set in memory.
std::vector<std::string> CalibrationParts(const v1::CalibrationSet& set);

/// A serialized set's parts, before they are given memory. Errors: INVALID_ARGUMENT naming the
/// part, its bytes and how many are legal.
absl::Status CheckCalibrationMessage(absl::string_view message);

}  // namespace isocenter::wire
