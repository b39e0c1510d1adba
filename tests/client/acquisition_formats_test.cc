#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/formats/acquisition_input.h"
#include "client/formats/bundle.h"
#include "client/formats/rabbitct.h"
#include "kernels/geometry/trajectory.h"
#include "proto/wire/geometry.h"
#include "tests/client/test_files.h"

namespace isocenter::formats {
namespace {

using client_test::Bytes;
using client_test::ReadBytes;
using client_test::TemporaryDirectory;
using client_test::WriteBytes;
using testing::HasSubstr;

constexpr int kFrames = 3;

v1::AcquisitionHeader Header(v1::PixelType type) {
  const Detector detector{.columns = 5, .rows = 4, .pitch_u_mm = 2, .pitch_v_mm = 2};
  v1::AcquisitionHeader header;
  header.set_pixel_type(type);
  header.set_i0_counts(60000);
  *header.mutable_detector() = wire::ToProto(detector);
  header.set_frame_count(kFrames);
  header.mutable_patient_study()->set_patient_name("Phantom^Odd");
  const CircularOrbit orbit{
      .views = kFrames, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3};
  const Trajectory trajectory = MakeCircularOrbit(orbit, detector).value();
  for (const ProjectionMatrix& matrix : trajectory) {
    *header.mutable_matrices()->add_matrix() = wire::ToProto(matrix);
  }
  return header;
}

/// Frame i of a test acquisition: bytes that differ everywhere.
std::vector<std::byte> Frame(int index, size_t bytes) {
  std::vector<std::byte> frame(bytes);
  for (size_t i = 0; i < bytes; ++i) frame[i] = std::byte(index * 31 + i);
  return frame;
}

absl::Status WriteFrames(FrameSink& sink, size_t bytes, int frames = kFrames) {
  for (int i = 0; i < frames; ++i) {
    if (absl::Status status = sink.Append(Frame(i, bytes)); !status.ok()) return status;
  }
  return sink.Finish();
}

void WriteBundle(const std::filesystem::path& path) {
  auto sink = CreateBundle(path, Header(v1::PIXEL_TYPE_UINT16_COUNTS), {{"phantom", "odd"}});
  ASSERT_TRUE(sink.ok()) << sink.status();
  ASSERT_TRUE(WriteFrames(**sink, 40).ok());
}

TEST(Bundle, KeepsHeaderDescriptionAndFrames) {
  TemporaryDirectory directory;
  WriteBundle(directory / "b");
  const auto source = OpenAcquisition(directory / "b", "", std::nullopt);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->header().SerializeAsString(),
            Header(v1::PIXEL_TYPE_UINT16_COUNTS).SerializeAsString());
  std::vector<std::byte> pixels((*source)->frame_bytes());
  for (const int i : {2, 0, 1}) {
    ASSERT_TRUE((*source)->Read(i, pixels).ok());
    EXPECT_EQ(pixels, Frame(i, 40));
  }
  EXPECT_EQ(ReadBundleDescription(directory / "b")->at("phantom"), "odd");
}

TEST(Bundle, MissingOrSurplusFramesAreNotABundle) {
  TemporaryDirectory directory;
  {
    auto sink = CreateBundle(directory / "b", Header(v1::PIXEL_TYPE_UINT16_COUNTS), {});
    ASSERT_TRUE(sink.ok());
    EXPECT_EQ(WriteFrames(**sink, 40, 2).code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "b")) << "made for nothing";
  std::filesystem::create_directory(directory.path() / "b");
  {
    auto sink = CreateBundle(directory / "b", Header(v1::PIXEL_TYPE_UINT16_COUNTS), {});
    ASSERT_TRUE(sink.ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory / "b")) << "it was there before";
  auto sink = CreateBundle(directory / "b", Header(v1::PIXEL_TYPE_UINT16_COUNTS), {});
  ASSERT_TRUE(sink.ok());
  EXPECT_EQ((*sink)->Append(Frame(0, 39)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteFrames(**sink, 40, 4).code(), absl::StatusCode::kInvalidArgument);
}

// Two programs write into one directory: the one that is later leaves what the other made.
TEST(Bundle, WhatAnotherMadeMeanwhileStays) {
  TemporaryDirectory directory;
  auto slow = CreateBundle(directory / "b", Header(v1::PIXEL_TYPE_UINT16_COUNTS), {});
  ASSERT_TRUE(slow.ok());
  WriteBundle(directory / "b");
  ASSERT_TRUE(OpenBundle(directory / "b").ok());
  EXPECT_EQ(WriteFrames(**slow, 40, 3).code(), absl::StatusCode::kAlreadyExists);
  slow->reset();
  EXPECT_TRUE(OpenBundle(directory / "b").ok());
}

TEST(Bundle, DamagedFilesAreRefusedWithWhatIsWrong) {
  TemporaryDirectory directory;
  const auto damaged = [&](const std::string& file, const std::string& bytes) {
    WriteBundle(directory / "b");
    WriteBytes(directory.path() / "b" / file, bytes);
    return std::string(OpenBundle(directory / "b").status().message());
  };
  WriteBundle(directory / "b");
  const std::string text = ReadBytes(directory.path() / "b" / "acquisition.textproto");
  EXPECT_THAT(damaged("frames.raw", std::string(119, 'x')), HasSubstr("119 bytes"));
  EXPECT_THAT(damaged("frames.raw", std::string(121, 'x')), HasSubstr("= 120"));
  EXPECT_THAT(damaged("bundle.json", "{}"),
              HasSubstr("\"format\" is missing; legal is \"isocenter-bundle\""));
  EXPECT_THAT(damaged("bundle.json", "[\xFF"), HasSubstr("bundle.json:1:2: '\\xff' cannot stand"));
  EXPECT_THAT(damaged("bundle.json", "{\"format\":\"isocenter-bundle\",\"version\":2}"),
              HasSubstr("legal is 1"));
  // Deeper than a stack.
  EXPECT_THAT(damaged("bundle.json",
                      "{\"format\":\"isocenter-bundle\",\"version\":" + std::string(1 << 20, '[') +
                          std::string(1 << 20, ']') + "}"),
              HasSubstr("\"version\" is no number or text, but array; legal is 1"));
  EXPECT_THAT(damaged("acquisition.textproto", "detector { columns: 5 rows }"),
              HasSubstr("acquisition.textproto:1:28: detector.rows lacks its colon"));
  EXPECT_THAT(damaged("acquisition.textproto", ""), HasSubstr("detector.columns is 0"));
  EXPECT_THAT(damaged("acquisition.textproto", text + "frame_count: 4294967295"),
              HasSubstr("frame_count"));
  EXPECT_THAT(damaged("acquisition.textproto", text + "matrices { matrix { value: 1 } }"),
              HasSubstr("matrices"));
  EXPECT_THAT(damaged("acquisition.textproto", text + "pixel_type: PIXEL_TYPE_UNSPECIFIED"),
              HasSubstr("pixel_type"));
  EXPECT_EQ(OpenBundle(directory / "none").status().code(), absl::StatusCode::kNotFound);
}

const std::vector<float> kBright(20, 1.5f);  // as line integrals are: not negative

void WriteRabbitCt(const std::filesystem::path& path, int version, std::vector<float> image) {
  const v1::AcquisitionHeader header = Header(v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  auto writer = RabbitCtWriter::Create(
      path, {.version = version, .columns = 5, .rows = 4, .projections = kFrames});
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int i = 0; i < kFrames; ++i) {
    ProjectionMatrix matrix;
    for (int at = 0; at < 12; ++at) matrix.m[at] = header.matrices().matrix(i).value(at);
    image[0] = static_cast<float>(i);
    ASSERT_TRUE(writer->AppendProjection(matrix, image).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
}

TEST(RabbitCt, BothLayoutsKeepMatricesAndFrames) {
  TemporaryDirectory directory;
  const v1::AcquisitionHeader header = Header(v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  for (const int version : {1, 2}) {
    WriteRabbitCt(directory / "a.rct", version, kBright);
    const std::string bytes = ReadBytes(directory / "a.rct");
    const size_t begin = version == 1 ? 20 : 24;
    ASSERT_EQ(bytes.size(), begin + kFrames * (96 + 80));
    // Column by column: the second double is row 1 of column 0.
    EXPECT_EQ(bytes.substr(begin + 8, 8), Bytes(header.matrices().matrix(0).value(4)));
    const auto source = OpenAcquisition(directory / "a.rct", "", std::nullopt);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->header().matrices().SerializeAsString(),
              header.matrices().SerializeAsString());
    EXPECT_EQ((*source)->header().detector().rows(), 4u);
    std::vector<std::byte> pixels(80);
    ASSERT_TRUE((*source)->Read(2, pixels).ok());
    EXPECT_EQ(std::memcmp(pixels.data(), Bytes(2.0f).data(), 4), 0);

    // Reference volumes may follow.
    WriteBytes(directory / "a.rct", bytes + std::string(1000, 'x'));
    EXPECT_TRUE(OpenRabbitCt(directory / "a.rct").ok());
    // A table of all matrices may come first.
    std::string table;
    for (int i = 0; i < kFrames; ++i) table += bytes.substr(begin + i * (96 + 80), 96);
    WriteBytes(directory / "a.rct", bytes.substr(0, begin) + table + bytes.substr(begin));
    const auto with_table = OpenRabbitCt(directory / "a.rct");
    ASSERT_TRUE(with_table.ok()) << with_table.status();
    ASSERT_TRUE((*with_table)->Read(1, pixels).ok());
    EXPECT_EQ(std::memcmp(pixels.data(), Bytes(1.0f).data(), 4), 0);

    WriteBytes(directory / "a.rct", bytes.substr(0, bytes.size() - 1));
    EXPECT_EQ(OpenRabbitCt(directory / "a.rct").status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(RabbitCt, FilteredProjectionsAreRefused) {
  TemporaryDirectory directory;
  std::vector<float> frame(20);
  for (int i = 0; i < 20; ++i) frame[i] = i % 2 == 0 ? 1.0f : -0.9f;
  WriteRabbitCt(directory / "a.rct", 1, frame);
  const absl::Status status = OpenRabbitCt(directory / "a.rct").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("filtered projections"));
}

TEST(RabbitCt, MissingOrSurplusProjectionsAreNoDataSet) {
  TemporaryDirectory directory;
  auto writer =
      RabbitCtWriter::Create(directory / "a.rct", {.columns = 5, .rows = 4, .projections = 1});
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->Finish().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(writer->AppendProjection({}, std::vector<float>(19)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(writer->AppendProjection({}, kBright).ok());
  EXPECT_EQ(writer->AppendProjection({}, kBright).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(directory / "a.rct"));
}

TEST(RabbitCt, HostileHeadersAreRefused) {
  TemporaryDirectory directory;
  const auto open = [&](uint32_t columns, uint32_t rows, uint32_t views) {
    WriteBytes(directory / "a.rct", Bytes(columns) + Bytes(rows) + Bytes(views) + Bytes(1.0f) +
                                        Bytes(0.0f) + std::string(1000, '\0'));
    return OpenRabbitCt(directory / "a.rct").status();
  };
  EXPECT_EQ(open(0, 4, 3).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open(4, 0xFFFFFFFF, 3).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open(4, 4, 0xFFFFFFFF).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open(8192, 8192, 10000).code(), absl::StatusCode::kDataLoss);
  WriteBytes(directory / "a.rct", "RabbitCT");
  EXPECT_EQ(OpenRabbitCt(directory / "a.rct").status().code(), absl::StatusCode::kDataLoss);
}

TEST(AcquisitionInput, OtherNamesAreRefusedWithWhatIsLegal) {
  TemporaryDirectory directory;
  WriteBytes(directory / "a.txt", "");
  WriteBytes(directory / "g.xml", "");
  EXPECT_THAT(std::string(OpenAcquisition(directory / "a.txt", "", 1).status().message()),
              HasSubstr("bundle directory"));
  EXPECT_THAT(std::string(OpenAcquisition(directory / "g.xml", "", 1).status().message()),
              HasSubstr("--projections"));
  EXPECT_EQ(OpenAcquisition(directory / "none", "", 1).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace isocenter::formats
