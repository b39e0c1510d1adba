#include "server/dicom/objects/result_store.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/objects/stored_values.h"
#include "tests/server/dicom/result_store_fixture.h"

namespace isocenter::dicom {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Reads a series back as a viewer does: from positions, orientation and spacing alone.
void ExpectSameVolume(const std::vector<std::filesystem::path>& files, const jobs::Job& job,
                      const std::vector<float>& volume) {
  const VolumeGrid& grid = job.grid;
  ASSERT_EQ(files.size(), static_cast<size_t>(grid.nz));
  for (int k = 0; k < grid.nz; ++k) {
    DcmFileFormat file;
    ASSERT_TRUE(file.loadFile(files[k].c_str()).good());
    DcmDataset& dataset = *file.getDataset();
    const auto position = Numbers(dataset, DCM_ImagePositionPatient);
    const auto orientation = Numbers(dataset, DCM_ImageOrientationPatient);
    const auto spacing = Numbers(dataset, DCM_PixelSpacing);
    ASSERT_EQ(position.size(), 3u);
    ASSERT_EQ(orientation.size(), 6u);
    ASSERT_EQ(spacing.size(), 2u);
    EXPECT_EQ(String(dataset, DCM_InstanceNumber), std::to_string(k + 1));
    // PS3.3 C.7.6.2.1.1: column index times column spacing along the first three cosines, row index
    // times row spacing along the last three.
    for (const auto [i, j] : {std::array{0, 0}, {grid.nx - 1, 0}, {0, grid.ny - 1}, {3, 2}}) {
      const Vec3 expected = grid.VoxelToWorld(i, j, k);
      const double world[] = {expected.x, expected.y, expected.z};
      for (int a = 0; a < 3; ++a) {
        // Sixteen characters hold coordinates below 1 m to 1e-10 mm.
        EXPECT_NEAR(
            position[a] + orientation[a] * spacing[1] * i + orientation[3 + a] * spacing[0] * j,
            world[a], 1e-8);
      }
    }
    const Uint16* pixels = nullptr;
    unsigned long count = 0;
    ASSERT_TRUE(dataset.findAndGetUint16Array(DCM_PixelData, pixels, &count).good());
    ASSERT_EQ(count, static_cast<unsigned long>(grid.nx * grid.ny));
    const double slope = Numbers(dataset, DCM_RescaleSlope).at(0);
    const double intercept = Numbers(dataset, DCM_RescaleIntercept).at(0);
    for (unsigned long p = 0; p < count; ++p) {
      // Rounding to whole HU: half a unit.
      ASSERT_NEAR(static_cast<int16_t>(pixels[p]) * slope + intercept, volume[k * count + p],
                  0.5001);
    }
  }
}

TEST_F(ResultStoreTest, AnisotropicSeriesReadsBack) {
  const jobs::Job job = TestJob("anisotropic");
  const auto volume = TestVolume(job.grid);
  ExpectSameVolume(StoreAndList(job, volume), job, volume);
}

TEST_F(ResultStoreTest, RotatedOffCentreSeriesReadsBack) {
  jobs::Job job = TestJob("rotated", 7, 9, 4);
  const double a = 0.3, b = -0.7;
  job.grid.direction = {std::cos(a),
                        -std::sin(a) * std::cos(b),
                        std::sin(a) * std::sin(b),
                        std::sin(a),
                        std::cos(a) * std::cos(b),
                        -std::cos(a) * std::sin(b),
                        0,
                        std::sin(b),
                        std::cos(b)};
  ASSERT_TRUE(ValidateGrid(job.grid).ok());
  job.grid.origin = {-101.5, 33.25, 7};
  const auto volume = TestVolume(job.grid);
  ExpectSameVolume(StoreAndList(job, volume), job, volume);
}

TEST_F(ResultStoreTest, RawFileIsTheVolume) {
  const jobs::Job job = TestJob("raw");
  const auto volume = TestVolume(job.grid);
  StoreAndList(job, volume);
  const auto file = store_->RawFile(job.id);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Contents(*file), std::string(reinterpret_cast<const char*>(volume.data()),
                                         volume.size() * sizeof(float)));
}

TEST_F(ResultStoreTest, AttributesComeFromTheJob) {
  const jobs::Job job = TestJob("attributes");
  const auto files = StoreAndList(job, TestVolume(job.grid));
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(files.at(0).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(file.getDataset()->getOriginalXfer(), EXS_LittleEndianExplicit);
  const std::map<DcmTagKey, std::string> expected = {
      {DCM_SpecificCharacterSet, "ISO_IR 192"},
      {DCM_PatientName, "Yamada^Tarou=山田^太郎=やまだ^たろう"},
      {DCM_PatientID, "PAT-attributes"},
      {DCM_PatientBirthDate, "19700203"},
      {DCM_PatientSex, "F"},
      {DCM_AccessionNumber, "A1234"},
      {DCM_StudyID, "S7"},
      {DCM_StudyDate, "20260102"},
      {DCM_StudyTime, "030405"},
      {DCM_StudyDescription, "Head"},
      {DCM_ReferringPhysicianName, "House^Gregory"},
      {DCM_Modality, "CT"},
      {DCM_Manufacturer, "Isocenter"},
      {DCM_StationName, "room-1"},
      {DCM_BodyPartExamined, "HEAD"},
      {DCM_KVP, "90"},
      {DCM_ConvolutionKernel, "shepp-logan 0.85"},
      {DCM_PatientPosition, "HFS"},
      {DCM_SliceThickness, "0.7"},
      {DCM_RescaleType, "HU"}};
  for (const auto& [tag, value] : expected) {
    EXPECT_EQ(String(dataset, tag), value) << DcmTag(tag).getTagName();
  }
}

TEST_F(ResultStoreTest, ValidatorFindsNothing) {
  jobs::Job full = TestJob("full");
  jobs::Job sparse;  // nothing but what every job has, and the patient id that DICOMDIRs need
  sparse.id = "sparse";
  sparse.patient_study.patient_id = "P";
  sparse.grid = CenteredGrid(8, 8, 3, {1, 1, 1});
  sparse.create_time = full.create_time;
  for (const jobs::Job& job : {full, sparse}) {
    for (const auto& file : StoreAndList(job, TestVolume(job.grid))) {
      const std::string report = Validate(file);
      EXPECT_THAT(report, HasSubstr("CTImage")) << job.id;  // it has recognised the object
      EXPECT_THAT(report, Not(HasSubstr("Error"))) << job.id;
      // Without a body part nobody knows whether it has sides; this one warning says just that.
      if (job.id == "sparse") {
        EXPECT_THAT(report, ContainsRegex("^CTImage\nWarning - [^\n]*<Laterality>\n$"));
      } else {
        EXPECT_EQ(report, "CTImage\n");
      }
    }
  }
}

TEST_F(ResultStoreTest, RepeatedExportIsIdenticalAndReplaces) {
  const jobs::Job job = TestJob("again");
  const auto volume = TestVolume(job.grid);
  const auto first = StoreAndList(job, volume);
  std::vector<std::string> before;
  for (const auto& file : first) before.push_back(Contents(file));
  const auto second = StoreAndList(job, volume);
  ASSERT_EQ(second.size(), first.size());
  for (size_t i = 0; i < second.size(); ++i) EXPECT_EQ(Contents(second[i]), before[i]);
  EXPECT_FALSE(std::filesystem::exists(first[0]));  // the earlier directory is gone
  EXPECT_EQ(archive_->FindSeries({})->size(), 1u);
}

TEST_F(ResultStoreTest, SeriesOfOneStudyAreNumbered) {
  jobs::Job first = TestJob("one"), second = TestJob("two");
  first.patient_study.study_instance_uid = second.patient_study.study_instance_uid = "1.2.3";
  second.patient_study.patient_id = first.patient_study.patient_id;
  for (const auto& job : {first, second, first}) StoreAndList(job, TestVolume(job.grid));
  const auto series = archive_->FindSeries({});
  ASSERT_TRUE(series.ok());
  ASSERT_EQ(series->size(), 2u);
  EXPECT_EQ((*series)[0].job_id, "one");
  EXPECT_EQ((*series)[0].series.number, 1);
  EXPECT_EQ((*series)[1].series.number, 2);
  EXPECT_NE((*series)[0].series.frame_of_reference_uid, (*series)[1].series.frame_of_reference_uid);
}

TEST_F(ResultStoreTest, CancelledStoreLeavesNothing) {
  const jobs::Job job = TestJob("cancelled", 8, 8, 100);
  int reported = 0;
  const auto stored =
      store_->Store(job, View(TestVolume(job.grid), job.grid), nullptr, [&](int slices) {
        reported = slices;
        return slices < 50;
      });
  EXPECT_EQ(stored.status().code(), absl::StatusCode::kCancelled);
  EXPECT_GE(reported, 50);
  EXPECT_LT(reported, 100);
  EXPECT_EQ(store_->DicomFiles(job.id).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() / "archive/staging"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() / "archive/results"));
}

TEST_F(ResultStoreTest, ProgressEndsWithAllSlices) {
  const jobs::Job job = TestJob("progress", 4, 4, 70);
  std::vector<int> reports;
  ASSERT_TRUE(store_
                  ->Store(job, View(TestVolume(job.grid), job.grid), nullptr,
                          [&](int slices) {
                            reports.push_back(slices);
                            return true;
                          })
                  .ok());
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
  EXPECT_EQ(reports.back(), 70);
}

TEST_F(ResultStoreTest, SlicesAreEncodedWhenTheyHaveTheirValues) {
  const jobs::Job job = TestJob("late", 4, 4, 70);
  const auto wanted = TestVolume(job.grid);
  std::vector<float> volume(wanted.size());
  std::vector<int> awaited;
  const auto stored = store_->Store(
      job, View(volume, job.grid),
      [&](int slices) {
        awaited.push_back(slices);
        std::copy_n(wanted.begin(), slices * 16, volume.begin());
        return absl::OkStatus();
      },
      [&](int slices) { return slices == awaited.back(); });
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_TRUE(std::is_sorted(awaited.begin(), awaited.end()));
  EXPECT_GT(awaited.size(), 1u);
  EXPECT_EQ(awaited.back(), 70);
  ExpectSameVolume(*store_->DicomFiles(job.id), job, wanted);
}

TEST_F(ResultStoreTest, AVolumeThatNeverComesLeavesNothing) {
  const jobs::Job job = TestJob("never", 4, 4, 70);
  const auto stored = store_->Store(
      job, View(TestVolume(job.grid), job.grid),
      [](int slices) {
        return slices < 40 ? absl::OkStatus() : absl::UnavailableError("the device is lost");
      },
      nullptr);
  EXPECT_EQ(stored.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_->Find(job).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() / "archive/staging"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() / "archive/results"));
}

TEST_F(ResultStoreTest, WhatWasStoredIsFound) {
  const jobs::Job job = TestJob("found");
  EXPECT_EQ(store_->Find(job).status().code(), absl::StatusCode::kNotFound);
  const auto volume = TestVolume(job.grid);
  const auto stored = store_->Store(job, View(volume, job.grid), nullptr, nullptr);
  ASSERT_TRUE(stored.ok()) << stored.status();
  Open();  // also by the next process
  const auto found = store_->Find(job);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->study_instance_uid, stored->study_instance_uid);
  EXPECT_EQ(found->series_instance_uid, stored->series_instance_uid);
  EXPECT_EQ(found->frame_of_reference_uid, stored->frame_of_reference_uid);
  EXPECT_EQ(found->instance_count, 5);
}

TEST_F(ResultStoreTest, AStudyHasThePatientUnderWhomItIsStored) {
  EXPECT_EQ(store_->PatientIdOfStudy("1.2.3").status().code(), absl::StatusCode::kNotFound);
  jobs::Job job = TestJob("a");
  job.patient_study.study_instance_uid = "1.2.3";
  StoreAndList(job, TestVolume(job.grid));
  jobs::Job nameless = TestJob("b");
  nameless.patient_study.study_instance_uid = "1.2.4";
  nameless.patient_study.patient_id.clear();
  StoreAndList(nameless, TestVolume(nameless.grid));
  Open();
  EXPECT_EQ(*store_->PatientIdOfStudy("1.2.3"), "PAT-a");
  EXPECT_EQ(*store_->PatientIdOfStudy("1.2.4"), "");
}

TEST_F(ResultStoreTest, ImagesSayWhatTheyWereCorrectedWith) {
  jobs::Job job = TestJob("calibrated");
  job.facts.calibration = jobs::UsedCalibration{
      .name = "room1_90kV",
      .crc32c = 0xC0FFEE,
      .outside_validity = true,
      .created = absl::FromCivil(absl::CivilSecond(2026, 3, 4, 5, 6, 7), absl::LocalTimeZone()),
      .verified = true};
  const auto files = StoreAndList(job, TestVolume(job.grid));
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(files.at(0).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_THAT(
      String(dataset, DCM_ImageComments),
      HasSubstr("; calibration room1_90kV, checksum 00c0ffee, verified, outside its validity"));
  DcmItem* system = nullptr;
  ASSERT_TRUE(dataset.findAndGetSequenceItem(DCM_ContributingEquipmentSequence, system).good());
  OFString date, time;
  system->findAndGetOFString(DCM_DateOfLastCalibration, date);
  system->findAndGetOFString(DCM_TimeOfLastCalibration, time);
  EXPECT_EQ(std::string(date.c_str()), "20260304");
  EXPECT_EQ(std::string(time.c_str()), "050607");
  EXPECT_EQ(Validate(files[0]), "CTImage\n");
}

TEST_F(ResultStoreTest, ImagesSayWhatTheirAcquisitionLacked) {
  jobs::Job job = TestJob("warned");
  job.progress.frames_lost = 3;
  job.warnings = {{jobs::WarningKind::kFrameGap, 7, "one"},
                  {jobs::WarningKind::kFrameGap, 9, "two"},
                  {jobs::WarningKind::kShortArc, std::nullopt, "three"}};
  const auto files = StoreAndList(job, TestVolume(job.grid));
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(files.at(0).c_str()).good());
  EXPECT_THAT(String(*file.getDataset(), DCM_ImageComments),
              HasSubstr("; 3 frames lost; warnings: frame_gap, short_arc; filter"));
  EXPECT_EQ(Validate(files[0]), "CTImage\n");
}

TEST_F(ResultStoreTest, BadInputIsNamed) {
  jobs::Job job = TestJob("bad");
  const auto volume = TestVolume(job.grid);
  const HostView3<const float> wrong(volume.data(), {1, 2, 3});
  EXPECT_THAT(std::string(store_->Store(job, wrong, nullptr, nullptr).status().message()),
              HasSubstr("1x2x3"));
  job.patient_study.study_instance_uid = "1.2.x";
  const auto status = store_->Store(job, View(volume, job.grid), nullptr, nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1.2.x"));
}

TEST_F(ResultStoreTest, ResultsSurviveARestart) {
  const jobs::Job job = TestJob("restart");
  const auto volume = TestVolume(job.grid);
  StoreAndList(job, volume);
  Open();
  const auto files = store_->DicomFiles(job.id);
  ASSERT_TRUE(files.ok()) << files.status();
  ExpectSameVolume(*files, job, volume);
  EXPECT_TRUE(archive_->repairs().empty());
}

TEST(StoredValuesTest, RoundsAndClamps) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {0,     0.4f,   -0.4f,  0.6f,     -0.6f,     32767, 32767.4f,
                                 40000, -32768, -40000, infinity, -infinity, nan,   -1023.51f};
  std::vector<int16_t> out(in.size());
  ToStoredValues(in, out);
  EXPECT_EQ(out, (std::vector<int16_t>{0, 0, 0, 1, -1, 32767, 32767, 32767, -32768, -32768, 32767,
                                       -32768, -32768, -1024}));
}

TEST(StoredValuesTest, LengthsThatFillNoBlock) {
  std::vector<float> in(2500);
  std::vector<int16_t> expected(in.size()), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<float>(i) - 1249.75f;
    expected[i] = static_cast<int16_t>(static_cast<int>(i) - 1250);
  }
  ToStoredValues(in, out);
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace isocenter::dicom
