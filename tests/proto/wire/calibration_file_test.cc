// Files of calibrations: what was written is read, and what was changed, claims too much or would
// take too much memory is refused.
#include "proto/wire/calibration_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "kernels/base/crc32c.h"
#include "tests/proto/wire/legal_calibration.h"

namespace isocenter::wire {
namespace {

using ::testing::HasSubstr;

/// A file of this message, whatever it is, whose checksums are right.
std::string FileOf(const std::string& message) {
  const auto checksum = [](absl::string_view bytes) {
    return Crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
  };
  std::string file = "ISOCAL01" + std::string(16, '\0') + message;
  const uint64_t length = message.size();
  const uint32_t crc = checksum(message);
  std::memcpy(file.data() + 8, &length, 8);
  std::memcpy(file.data() + 16, &crc, 4);
  const uint32_t header_crc = checksum(absl::string_view(file).substr(0, 20));
  std::memcpy(file.data() + 20, &header_crc, 4);
  return file;
}

/// A field of a message that has a length.
std::string Field(int number, const std::string& content) {
  std::string bytes;
  for (uint64_t value : {static_cast<uint64_t>(number) << 3 | 2, uint64_t{content.size()}}) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  }
  return bytes + content;
}

std::string Complaint(const std::string& file, absl::StatusCode code) {
  const auto set = ParseCalibrationFile(file);
  EXPECT_EQ(set.status().code(), code) << set.status();
  return std::string(set.status().message());
}

TEST(CalibrationFile, ThereAndBackIsTheSame) {
  const v1::CalibrationSet set = FullSet();
  const std::string file = CalibrationFile(set);
  EXPECT_EQ(file, FileOf(set.SerializeAsString()));
  const auto read = ParseCalibrationFile(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), set.SerializeAsString());
}

TEST(CalibrationFile, IsReadByItsPath) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "set.isocal";
  std::ofstream(path, std::ios::binary) << CalibrationFile(FullSet());
  const auto read = ReadCalibrationFile("--calibration", path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name(), "room1_2026-03");
  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(std::string(ReadCalibrationFile("--calibration", path).status().message()),
              HasSubstr("--calibration is " + path.string() + ": the calibration has 76 bytes"));
  EXPECT_EQ(ReadCalibrationFile("--calibration", path.parent_path() / "none").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(CalibrationFile, EveryChangedBitIsFound) {
  const std::string file = CalibrationFile(CalibrationLabel(FullSet()));
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string changed = file;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(ParseCalibrationFile(changed).status().code(), absl::StatusCode::kDataLoss) << bit;
  }
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    EXPECT_EQ(ParseCalibrationFile(file.substr(0, bytes)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_THAT(Complaint(file + "x", absl::StatusCode::kDataLoss), HasSubstr("after its header"));
}

TEST(CalibrationFile, ALengthBeyondTheBoundIsNotBelieved) {
  std::string file = FileOf("");
  const uint64_t claimed = uint64_t{1} << 40;
  std::memcpy(file.data() + 8, &claimed, 8);
  const uint32_t crc = Crc32c(std::as_bytes(std::span(file.data(), 20)));
  std::memcpy(file.data() + 20, &crc, 4);
  EXPECT_THAT(Complaint(file, absl::StatusCode::kInvalidArgument),
              HasSubstr("1099511627776 bytes; legal is at most 587202536"));
}

TEST(CalibrationFile, PartsOfTooManyBytesAreRefusedBeforeTheyTakeMemory) {
  const auto refused = [](const std::string& message) {
    return Complaint(FileOf(message), absl::StatusCode::kInvalidArgument);
  };
  EXPECT_THAT(refused(Field(41, std::string((4 << 20) + 1, 'p'))), HasSubstr("picture_png has"));
  // Ten million empty figures of quality would take half a gigabyte.
  std::string figures;
  while (figures.size() < (300 << 10)) figures += Field(40, "");
  EXPECT_THAT(refused(figures), HasSubstr("legal is at most 262144"));
  // The same among what is not known, and within the maps' message.
  std::string unknown;
  while (unknown.size() < (300 << 10)) unknown += Field(999, "");
  EXPECT_THAT(refused(unknown), HasSubstr("legal is at most 262144"));
  EXPECT_THAT(refused(Field(20, unknown)), HasSubstr("legal is at most 262144"));
  EXPECT_THAT(refused(Field(21, Field(1, std::string(27 << 20, '\0')))), HasSubstr("defects has"));
}

TEST(CalibrationFile, WhatIsNoSetIsRefused) {
  const auto refused = [](const std::string& message) {
    return Complaint(FileOf(message), absl::StatusCode::kInvalidArgument);
  };
  EXPECT_THAT(refused("\x0a\xff"), HasSubstr("malformed"));
  EXPECT_THAT(refused(Field(20, "\x0a\xff")), HasSubstr("the response is malformed"));
  EXPECT_THAT(refused(Field(9, "\xff\xfe")), HasSubstr("UTF-8"));
  EXPECT_THAT(refused(Field(22, "\xff")), HasSubstr("cannot be parsed"));
  // A correction of a later version, left out, would be missing in every volume.
  EXPECT_THAT(refused(FullSet().SerializeAsString() + Field(33, "later")),
              HasSubstr("8 bytes of parts that this version does not know"));
}

}  // namespace
}  // namespace isocenter::wire
