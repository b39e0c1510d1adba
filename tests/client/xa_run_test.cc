#include "client/formats/dicom/xa_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/formats/acquisition_input.h"
#include "client/formats/dicom/positioner.h"
#include "tests/client/test_files.h"
#include "tests/client/xa_file.h"

namespace isocenter::formats {
namespace {

using client_test::Sphere;
using client_test::TemporaryDirectory;
using client_test::WriteXa;
using client_test::XaFile;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const std::vector<Sphere> kSpheres = {{{30, 5, 10}, 15, 0.02}, {{-20, 25, -15}, 10, 0.03}};

std::unique_ptr<FrameSource> Opened(const XaFile& run) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(WriteXa(directory / "run.dcm", run));
  auto source = OpenXaRun(directory / "run.dcm", "", std::nullopt);
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? *std::move(source) : nullptr;
}

std::string Refusal(const XaFile& run) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(WriteXa(directory / "run.dcm", run));
  const absl::Status status = OpenXaRun(directory / "run.dcm", "", std::nullopt).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

/// Counts of all frames.
std::vector<uint16_t> Counts(const XaFile& run) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(WriteXa(directory / "run.dcm", run));
  auto source = OpenXaRun(directory / "run.dcm", "", std::nullopt);
  EXPECT_TRUE(source.ok()) << source.status();
  std::vector<uint16_t> counts;
  if (!source.ok()) return counts;
  std::vector<uint16_t> frame((*source)->frame_bytes() / 2);
  for (int i = 0; i < run.frames; ++i) {
    const absl::Status read = (*source)->Read(i, std::as_writable_bytes(std::span(frame)));
    EXPECT_TRUE(read.ok()) << read;
    counts.insert(counts.end(), frame.begin(), frame.end());
  }
  return counts;
}

// The words of the standard against the matrices: a sphere's centre must be projected to where its
// shadow was put.
TEST(XaRun, MatricesSeeWhatTheDetectorSaw) {
  for (const bool enhanced : {false, true}) {
    for (const double secondary : {0.0, 20.0}) {
      const XaFile run{.frames = 5,
                       .step_deg = 50,
                       .secondary_deg = secondary,
                       .spheres = {{{40, 12, 25}, 3, 0.1}},
                       .enhanced = enhanced,
                       .vector_of_offsets = enhanced};
      const auto source = Opened(run);
      ASSERT_NE(source, nullptr);
      for (int view = 0; view < run.frames; ++view) {
        ProjectionMatrix matrix;
        std::copy_n(source->header().matrices().matrix(view).value().begin(), 12, matrix.m.begin());
        const Projected mark = matrix.Project(run.spheres[0].center);
        const double angle = run.first_deg + view * run.step_deg;
        EXPECT_LT(Intensity(run, angle, mark.u(), mark.v()), 0.552) << view;  // exp(-6 * 0.1)
        EXPECT_EQ(Intensity(run, angle, run.columns - 1 - mark.u(), mark.v()), 1) << view;
        EXPECT_EQ(Intensity(run, angle, mark.u(), run.rows - 1 - mark.v()), 1) << view;
      }
    }
  }
}

TEST(XaRun, TheIsocentreIsImagedWhereTheDetectorSays) {
  XaFile run{.frames = 3, .step_deg = 30, .enhanced = true};
  run.change = [](DcmDataset& data) {  // pixels of 3 x 4 detector elements
    data.putAndInsertString(DCM_DetectorElementSpacing, "1.5\\1");
    const Float32 position[] = {80, 130};
    data.putAndInsertFloat32Array(DCM_PositionOfIsocenterProjection, position, 2);
    DcmItem* shared = nullptr;
    data.findAndGetSequenceItem(DCM_SharedFunctionalGroupsSequence, shared);
    client_test::NewItem(*shared, DCM_FieldOfViewSequence)
        .putAndInsertString(DCM_FieldOfViewOrigin, "10\\20");
  };
  const auto source = Opened(run);
  ASSERT_NE(source, nullptr);
  const auto& matrix = source->header().matrices().matrix(1);
  // Elements 10 to 12 are row 0, with its centre at element 11; 20 to 23 column 0, at 21.5.
  EXPECT_NEAR(matrix.value(7) / matrix.value(11), (80 - 11) / 3.0, 1e-9);
  EXPECT_NEAR(matrix.value(3) / matrix.value(11), (130 - 21.5) / 4.0, 1e-9);
  EXPECT_THAT(absl::StrJoin(source->notes(), "\n"), Not(HasSubstr("middle of the frames")));
}

/// A run whose text is in `character_set` (null: none is named), and its notes in one text.
std::pair<std::string, std::string> NameAndNotes(const char* character_set, const char* name) {
  client_test::XaFile run{.frames = 5, .step_deg = 50};
  run.change = [&](DcmDataset& data) {
    if (character_set == nullptr) {
      data.findAndDeleteElement(DCM_SpecificCharacterSet);
    } else {
      data.putAndInsertString(DCM_SpecificCharacterSet, character_set);
    }
    data.putAndInsertString(DCM_PatientName, name);
  };
  const auto source = Opened(run);
  if (source == nullptr) return {};
  return {source->header().patient_study().patient_name(), absl::StrJoin(source->notes(), "\n")};
}

TEST(XaRun, NamesAreReadInAnyCharacterSetOrSaidToBeLost) {
  const auto quiet = Not(HasSubstr("character set"));
  EXPECT_THAT(NameAndNotes("ISO_IR 192", "山田^太郎"), Pair("山田^太郎", quiet));
  EXPECT_THAT(NameAndNotes("ISO_IR 101", "Nov\xe1k^Ji\xf8\xed"), Pair("Novák^Jiří", quiet));
  EXPECT_THAT(NameAndNotes(nullptr, "Doe^Jane"), Pair("Doe^Jane", quiet));
  EXPECT_THAT(NameAndNotes(nullptr, "山田^太郎"),
              Pair("山田^太郎", HasSubstr("read as UTF-8 (ISO_IR 192): check the patient's name")));
  EXPECT_THAT(NameAndNotes(nullptr, "M\xfcller^J\xf6rg"),
              Pair("Müller^Jörg", HasSubstr("read as Latin-1 (ISO_IR 100)")));
  EXPECT_THAT(NameAndNotes("ISO_IR 192", "M\xfcller^J\xf6rg"),
              Pair("", HasSubstr("is not in the character set that it names, 'ISO_IR 192'")));
}

TEST(XaRun, IdentityDetectorAndRateAreRead) {
  for (const bool enhanced : {false, true}) {
    const auto source = Opened({.frames = 5, .step_deg = 50, .enhanced = enhanced});
    ASSERT_NE(source, nullptr);
    const v1::AcquisitionHeader& header = source->header();
    EXPECT_EQ(header.patient_study().patient_name(), "Müller^Jörg");
    EXPECT_EQ(header.patient_study().patient_id(), "P42");
    EXPECT_EQ(header.patient_study().accession_number(), "ACC7");
    EXPECT_EQ(header.patient_study().study_instance_uid(), "1.2.840.99");
    EXPECT_EQ(header.patient_study().study_time(), "235958");
    EXPECT_EQ(header.station_name(), "ROOM-2-A");
    EXPECT_EQ(header.tube_voltage_kv(), 82.5);
    EXPECT_EQ(header.detector().columns(), 64);
    EXPECT_EQ(header.detector().rows(), 48);
    EXPECT_EQ(header.detector().pitch_u_mm(), 4);
    EXPECT_EQ(header.detector().pitch_v_mm(), 4.5);
    EXPECT_EQ(header.i0_counts(), 65535);
    const std::string notes = absl::StrJoin(source->notes(), "\n");
    EXPECT_THAT(notes, HasSubstr("ideal orbit is assumed: primary angle -100 to 100 degrees"));
    EXPECT_THAT(notes, HasSubstr(enhanced ? "100 frames per second" : "25 frames per second"));
    EXPECT_THAT(notes, HasSubstr("seen from the detector"));
    EXPECT_THAT(notes, HasSubstr("65535 counts"));
  }
}

TEST(XaRun, CompressedFramesAreTheSame) {
  XaFile run{.frames = 4, .step_deg = 30, .spheres = kSpheres, .bits_stored = 12};
  const std::vector<uint16_t> plain = Counts(run);
  ASSERT_EQ(plain.size(), 4u * 64 * 48);
  for (const E_TransferSyntax syntax : {EXS_RLELossless, EXS_JPEGProcess14SV1, EXS_JPEGLSLossless,
                                        EXS_BigEndianExplicit, EXS_LittleEndianImplicit}) {
    run.syntax = syntax;
    EXPECT_EQ(Counts(run), plain) << DcmXfer(syntax).getXferName();
  }
}

TEST(XaRun, FramesOfACompressedRunCanBeReadInAnyOrder) {
  const XaFile run{.frames = 4, .step_deg = 30, .spheres = kSpheres, .syntax = EXS_RLELossless};
  const std::vector<uint16_t> all = Counts(run);
  const TemporaryDirectory directory;
  ASSERT_TRUE(WriteXa(directory / "run.dcm", run));
  const auto source = OpenXaRun(directory / "run.dcm", "", std::nullopt);
  ASSERT_TRUE(source.ok());
  std::vector<uint16_t> frame(64 * 48);
  for (const int i : {2, 3, 0, 0, 1}) {
    ASSERT_TRUE((*source)->Read(i, std::as_writable_bytes(std::span(frame))).ok());
    EXPECT_EQ(std::memcmp(frame.data(), &all[i * frame.size()], frame.size() * 2), 0) << i;
  }
}

/// Resident memory of this process.
int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(XaRun, AFileIsNeverInMemoryAsAWhole) {
  constexpr int kFrames = 24, kSize = 512;
  XaFile run{.frames = kFrames, .columns = 1, .rows = 1, .step_deg = 4};
  // Noise: no codec makes it small. Of 12 bits: of 16, a frame grows when it is compressed, and
  // DCMTK 3.6.7's JPEG-LS encoder then writes past the end of its buffer.
  run.change = [](DcmDataset& data) {
    std::vector<Uint16> noise(kFrames * kSize * kSize);
    std::mt19937 generator(1);
    for (Uint16& value : noise) value = static_cast<Uint16>(generator() & 0xfff);
    data.putAndInsertUint16(DCM_Rows, kSize);
    data.putAndInsertUint16(DCM_Columns, kSize);
    data.putAndInsertUint16Array(DCM_PixelData, noise.data(), noise.size());
  };
  constexpr int64_t kFile = int64_t{2} * kFrames * kSize * kSize;
  for (const E_TransferSyntax syntax : {EXS_LittleEndianExplicit, EXS_JPEGLSLossless}) {
    run.syntax = syntax;
    const TemporaryDirectory directory;
    ASSERT_TRUE(WriteXa(directory / "run.dcm", run));
    malloc_trim(0);
    const int64_t before = ResidentBytes();
    const auto source = OpenXaRun(directory / "run.dcm", "", std::nullopt);
    ASSERT_TRUE(source.ok()) << source.status();
    std::vector<std::byte> frame((*source)->frame_bytes());
    for (int i = 0; i < kFrames; ++i) ASSERT_TRUE((*source)->Read(i, frame).ok());
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
    EXPECT_LT(ResidentBytes() - before, kFile / 3) << DcmXfer(syntax).getXferName();
#endif
  }
}

TEST(XaRun, StoredValuesBecomeCounts) {
  XaFile run{.frames = 3, .step_deg = 30, .spheres = kSpheres, .bits_stored = 12};
  const std::vector<uint16_t> linear = Counts(run);
  run.sign = -1;
  EXPECT_EQ(Counts(run), linear);
  run = {.frames = 3,
         .step_deg = 30,
         .spheres = kSpheres,
         .relationship = "LOG",
         .log_table = true,
         .bits_stored = 12};
  for (const bool enhanced : {false, true}) {
    run.enhanced = enhanced;
    const std::vector<uint16_t> counts = Counts(run);
    ASSERT_EQ(counts.size(), linear.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      // One step of 12-bit LOG data is 6 / 4095 of an e-folding; half of each rounding.
      EXPECT_NEAR(std::log(counts[i] / 60000.0), std::log(linear[i] / 4095.0), 2e-3);
    }
  }
}

TEST(XaRun, MeasuredMatricesReplaceTheIdealOrbit) {
  const TemporaryDirectory directory;
  XaFile run{.frames = 2, .step_deg = 30};
  run.change = [](DcmDataset& data) { data.findAndDeleteElement(DCM_DistanceSourceToDetector); };
  ASSERT_TRUE(WriteXa(directory / "run.dcm", run));
  const std::string line = "0,-0.05,2,0,50,-0.04,0,-2,40,-0.001,0,0,1\n";
  client_test::WriteBytes(directory / "two.csv", line + line);
  client_test::WriteBytes(directory / "one.csv", line);
  const auto source = OpenAcquisition(directory / "run.dcm", directory / "two.csv", 50000);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->header().matrices().matrix(1).value(3), 50);
  EXPECT_EQ((*source)->header().i0_counts(), 50000);
  EXPECT_THAT(absl::StrJoin((*source)->notes(), "\n"), Not(HasSubstr("ideal orbit")));
  EXPECT_THAT(
      std::string(
          OpenAcquisition(directory / "run.dcm", directory / "one.csv", {}).status().message()),
      HasSubstr("has 1 matrices, but the run has 2 frames"));
}

TEST(XaRun, WhatCannotBeReconstructedIsRefused) {
  const auto without = [](const DcmTagKey& tag) {
    return XaFile{.frames = 3, .step_deg = 30, .change = [tag](DcmDataset& data) {
                    data.findAndDeleteElement(tag, OFTrue, OFTrue);
                  }};
  };
  EXPECT_THAT(
      Refusal({.frames = 3, .step_deg = 0}),
      HasSubstr("not a rotational run: the positioner angles of its 3 frames stay within 0.00 "
                "degrees (primary -100"));
  EXPECT_THAT(Refusal(without(DCM_DistanceSourceToDetector)),
              HasSubstr("Distance Source to Detector (0018,1110) is missing"));
  EXPECT_THAT(Refusal(without(DCM_DistanceSourceToPatient)),
              HasSubstr("Distance Source to Patient (0018,1111; to the isocentre) is missing"));
  EXPECT_THAT(Refusal(without(DCM_ImagerPixelSpacing)), HasSubstr("Imager Pixel Spacing"));
  EXPECT_THAT(Refusal(without(DCM_PositionerPrimaryAngle)),
              HasSubstr("Positioner Primary Angle is missing"));
  EXPECT_THAT(Refusal(without(DCM_NumberOfFrames)), HasSubstr("Number of Frames is 1"));
  EXPECT_THAT(Refusal({.frames = 3, .step_deg = 30, .relationship = "LOG"}),
              HasSubstr("is LOG, and no table"));
  EXPECT_THAT(Refusal({.frames = 3, .step_deg = 30, .relationship = "DISP"}),
              HasSubstr("is 'DISP'; legal is LIN"));
  XaFile other = {.frames = 3, .step_deg = 30, .change = [](DcmDataset& data) {
                    data.putAndInsertString(DCM_SOPClassUID, UID_CTImageStorage);
                  }};
  EXPECT_THAT(Refusal(other), HasSubstr("CTImageStorage); legal is X-Ray Angiographic"));
  other.change = [](DcmDataset& data) {
    data.putAndInsertString(DCM_PositionerPrimaryAngleIncrement, "0\\30");
  };
  EXPECT_THAT(Refusal(other), HasSubstr("has 2 values; legal is 1 or one per frame (3)"));
  other.change = [](DcmDataset& data) { data.putAndInsertString(DCM_TableMotion, "DYNAMIC"); };
  EXPECT_THAT(Refusal(other), HasSubstr("Table Motion is DYNAMIC"));
  EXPECT_THAT(Refusal({.frames = 3, .step_deg = 30, .patient_position = "FFS"}),
              HasSubstr("with Patient Position 'FFS'"));
  EXPECT_THAT(Refusal({.frames = 3, .step_deg = 30, .patient_orientation = "L\\L"}),
              HasSubstr("perpendicular"));
}

TEST(XaRun, ATruncatedFileIsNoAcquisition) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(WriteXa(directory / "run.dcm", {.frames = 3, .step_deg = 30}));
  const std::string bytes = client_test::ReadBytes(directory / "run.dcm");
  for (const size_t size : {size_t{0}, size_t{100}, size_t{400}, bytes.size() / 2}) {
    client_test::WriteBytes(directory / "cut.dcm", bytes.substr(0, size));
    const auto source = OpenXaRun(directory / "cut.dcm", "", std::nullopt);
    if (!source.ok()) continue;
    std::vector<std::byte> pixels((*source)->frame_bytes());
    EXPECT_EQ((*source)->Read(2, pixels).code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(XaRun, SegmentsOfRleFramesLieInTheirFrame) {
  const TemporaryDirectory directory;
  const auto path = directory / "run.dcm";
  ASSERT_TRUE(WriteXa(path, {.frames = 3, .step_deg = 30, .syntax = EXS_RLELossless}));
  std::string bytes = client_test::ReadBytes(path);
  const std::string header("\2\0\0\0\100\0\0\0", 8);  // two segments, the first at byte 64
  const size_t at = bytes.find(header);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at + header.size(), 4, "\x4a\xff\xff\xff");
  client_test::WriteBytes(path, bytes);
  const auto source = OpenXaRun(path, "", std::nullopt);
  ASSERT_TRUE(source.ok()) << source.status();
  std::vector<std::byte> pixels((*source)->frame_bytes());
  const absl::Status damaged = (*source)->Read(0, pixels);
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(damaged.message()),
              HasSubstr("segment 2 begins at byte 4294967114; legal is 64 to "));
  EXPECT_TRUE((*source)->Read(1, pixels).ok());
}

TEST(PatientOrientation, LettersOfTheFirstFrameOrOfTheFrontalView) {
  const auto axes = [](const char* row, const char* column, double primary_deg) {
    return AxesOfPatientOrientation(row, column, {DegreesToRadians(primary_deg), 0});
  };
  EXPECT_EQ(axes("L", "F", 0).value(), kUprightAxes);
  EXPECT_EQ(axes("L", "F", -100).value(), kUprightAxes);
  EXPECT_EQ(axes("A", "F", -100).value(), kUprightAxes);
  EXPECT_EQ(axes("LA", "F", -30).value(), kUprightAxes);
  EXPECT_EQ(axes("R", "H", 0).value(), (ImageAxes{-1, 0, 0, -1}));
  EXPECT_EQ(axes("F", "R", 0).value(), (ImageAxes{0, 1, -1, 0}));
  // At 150 degrees rows of an upright image run to the right: nobody knows which L this is.
  EXPECT_THAT(std::string(axes("L", "F", 150).status().message()), HasSubstr("'L' differs"));
  EXPECT_THAT(std::string(axes("X", "F", 0).status().message()), HasSubstr("not a direction"));
  EXPECT_THAT(std::string(axes("A", "F", 0).status().message()), HasSubstr("no axis"));
}

}  // namespace
}  // namespace isocenter::formats
