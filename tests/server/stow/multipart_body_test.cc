#include "server/stow/multipart_body.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::stow {
namespace {

class MultipartBodyTest : public ::testing::Test {
 protected:
  Object Write(const std::string& name, const std::string& bytes) {
    const std::filesystem::path file = directory_.path() / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return {.sop_instance_uid = name, .file = file, .bytes = bytes.size()};
  }
  static std::string ReadIn(const web::Body& body, size_t step) {
    std::string read(body.bytes, '?');
    for (uint64_t offset = 0; offset < body.bytes; offset += step) {
      const size_t bytes = std::min<uint64_t>(step, body.bytes - offset);
      const absl::Status status = body.read(offset, {read.data() + offset, bytes});
      EXPECT_TRUE(status.ok()) << status;
    }
    return read;
  }
  const isocenter::testing::TemporaryDirectory directory_;
};

TEST_F(MultipartBodyTest, IsTheSameHoweverItIsRead) {
  const std::string first(1000, 'a'), second = "b\r\n--c", third;
  const std::string expected =
      absl::StrCat("--XX\r\nContent-Type: application/dicom\r\n\r\n", first,
                   "\r\n--XX\r\nContent-Type: application/dicom\r\n\r\n", second,
                   "\r\n--XX\r\nContent-Type: application/dicom\r\n\r\n", third, "\r\n--XX--\r\n");
  const web::Body body =
      MultipartBody({Write("1", first), Write("2", second), Write("3", third)}, "XX");
  ASSERT_EQ(body.bytes, expected.size());
  for (const size_t step : {size_t{1}, size_t{7}, size_t{64}, size_t{1001}, expected.size()}) {
    EXPECT_EQ(ReadIn(body, step), expected) << step;
  }
  // Asked for again.
  std::string piece(20, '?');
  ASSERT_TRUE(body.read(30, {piece.data(), piece.size()}).ok());
  EXPECT_EQ(piece, expected.substr(30, 20));
}

TEST_F(MultipartBodyTest, SaysWhichFileCannotBeRead) {
  Object gone = Write("1.2.3", "text");
  const web::Body body = MultipartBody({gone}, "XX");
  std::filesystem::remove(gone.file);
  std::string piece(body.bytes, '?');
  const absl::Status status = body.read(0, {piece.data(), piece.size()});
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find("1.2.3"), absl::string_view::npos);
  Object shorter = Write("4.5.6", "text");
  shorter.bytes = 5;
  const web::Body cut = MultipartBody({shorter}, "XX");
  piece.resize(cut.bytes);
  EXPECT_TRUE(absl::IsDataLoss(cut.read(0, {piece.data(), piece.size()})));
}

}  // namespace
}  // namespace isocenter::stow
