#include "client/formats/dicom_series.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dctk.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/client/test_files.h"

namespace isocenter::formats {
namespace {

using client_test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct SliceFile {
  double z = 0;
  std::string series = "1.2.3";
  std::string orientation = "1\\0\\0\\0\\1\\0";
  std::string modality = "CT";
  std::string station, kvp, rescale_type, frame_of_reference;
  std::vector<Uint16> pixels{0, 1, 2, 0xFFFF, 4, 5};  // 2 rows x 3 columns; signed: -1
};

void Write(const std::filesystem::path& path, const SliceFile& slice) {
  DcmFileFormat file;
  DcmDataset& data = *file.getDataset();
  data.putAndInsertString(DCM_SOPClassUID, UID_CTImageStorage);
  data.putAndInsertString(DCM_SOPInstanceUID,
                          absl::StrCat("1.2.3.", int(slice.z * 10 + 500)).c_str());
  data.putAndInsertString(DCM_Modality, slice.modality.c_str());
  data.putAndInsertString(DCM_SeriesInstanceUID, slice.series.c_str());
  if (!slice.station.empty()) data.putAndInsertString(DCM_StationName, slice.station.c_str());
  if (!slice.kvp.empty()) data.putAndInsertString(DCM_KVP, slice.kvp.c_str());
  data.putAndInsertString(DCM_ImagePositionPatient, absl::StrCat("-5\\7\\", slice.z).c_str());
  data.putAndInsertString(DCM_ImageOrientationPatient, slice.orientation.c_str());
  data.putAndInsertString(DCM_PixelSpacing, "0.5\\0.25");
  data.putAndInsertUint16(DCM_Rows, 2);
  data.putAndInsertUint16(DCM_Columns, 3);
  data.putAndInsertUint16(DCM_BitsAllocated, 16);
  data.putAndInsertUint16(DCM_BitsStored, 16);
  data.putAndInsertUint16(DCM_HighBit, 15);
  data.putAndInsertUint16(DCM_PixelRepresentation, 1);
  data.putAndInsertUint16(DCM_SamplesPerPixel, 1);
  data.putAndInsertString(DCM_PhotometricInterpretation, "MONOCHROME2");
  data.putAndInsertString(DCM_RescaleSlope, "2");
  data.putAndInsertString(DCM_RescaleIntercept, "-1000");
  if (!slice.rescale_type.empty()) {
    data.putAndInsertString(DCM_RescaleType, slice.rescale_type.c_str());
  }
  data.putAndInsertString(DCM_FrameOfReferenceUID, slice.frame_of_reference.c_str());
  data.putAndInsertUint16Array(DCM_PixelData, slice.pixels.data(), slice.pixels.size());
  ASSERT_TRUE(file.saveFile(path.c_str(), EXS_LittleEndianExplicit).good());
}

TEST(DicomSeries, TellsItsBeam) {
  TemporaryDirectory directory;
  EXPECT_THAT(std::string(ReadSeriesBeam(directory.path()).status().message()),
              HasSubstr("holds no DICOM CT slice"));
  Write(directory / "a.dcm", {.modality = "MR", .station = "magnet"});
  Write(directory / "b.dcm", {.z = 10, .station = "room3", .kvp = "90.5"});
  absl::StatusOr<SeriesBeam> beam = ReadSeriesBeam(directory.path());
  ASSERT_TRUE(beam.ok()) << beam.status();
  EXPECT_EQ(beam->station_name, "room3");
  EXPECT_EQ(beam->tube_voltage_kv, 90.5);
  Write(directory / "b.dcm", {.z = 10});
  beam = ReadSeriesBeam(directory.path());
  ASSERT_TRUE(beam.ok()) << beam.status();
  EXPECT_EQ(beam->station_name, "");
  EXPECT_EQ(beam->tube_voltage_kv, 0);
}

TEST(DicomSeries, TakesHounsfieldUnitsAlone) {
  TemporaryDirectory directory;
  Write(directory / "a.dcm", {.z = 0, .rescale_type = "HU", .frame_of_reference = "1.2.9"});
  Write(directory / "b.dcm", {.z = 1});
  EXPECT_TRUE(ReadDicomSeries(directory.path()).ok());
  EXPECT_EQ(SeriesFrameOfReference(directory.path()).value(), "1.2.9");
  Write(directory / "b.dcm", {.z = 1, .rescale_type = "US"});
  EXPECT_THAT(std::string(ReadDicomSeries(directory.path()).status().message()),
              AllOf(HasSubstr("b.dcm: Rescale Type is 'US'"), HasSubstr("legal is HU, or none")));
}

TEST(DicomSeries, SortsByPositionAndRescales) {
  TemporaryDirectory directory;
  // The names are in another order than the positions.
  Write(directory / "a.dcm", {.z = 12.5, .pixels = {30, 0, 0, 0, 0, 0}});
  Write(directory / "b.dcm", {.z = 10});
  Write(directory / "c.dcm", {.z = 11.25, .pixels = {20, 0, 0, 0, 0, 0}});
  client_test::WriteBytes(directory / "notes.txt", "not DICOM");
  const absl::StatusOr<Volume> volume = ReadDicomSeries(directory.path());
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_EQ(volume->grid.nx, 3);
  EXPECT_EQ(volume->grid.ny, 2);
  EXPECT_EQ(volume->grid.nz, 3);
  EXPECT_EQ(volume->grid.spacing, (Vec3{0.25, 0.5, 1.25}));  // columns, rows, slices
  EXPECT_EQ(volume->grid.origin, (Vec3{-5, 7, 10}));
  EXPECT_EQ(volume->voxels[0], -1000);
  EXPECT_EQ(volume->voxels[3], -1002);  // stored -1
  EXPECT_EQ(volume->voxels[6], -960);
  EXPECT_EQ(volume->voxels[12], -940);
}

TEST(DicomSeries, UnusableDirectoriesAreRefused) {
  const auto read = [](const std::vector<SliceFile>& slices) {
    TemporaryDirectory directory;
    for (size_t i = 0; i < slices.size(); ++i) {
      Write(directory / absl::StrCat(i, ".dcm"), slices[i]);
    }
    return std::string(ReadDicomSeries(directory.path()).status().message());
  };
  EXPECT_THAT(read({}), HasSubstr("0 DICOM CT slices"));
  EXPECT_THAT(read({{.z = 0, .modality = "MR"}, {.z = 1, .modality = "MR"}}), HasSubstr("0 DICOM"));
  EXPECT_THAT(read({{.z = 0}, {.z = 1, .series = "1.2.4"}}), HasSubstr("more than one series"));
  EXPECT_THAT(read({{.z = 0}, {.z = 1}, {.z = 3}}), HasSubstr("not evenly spaced"));
  EXPECT_THAT(read({{.z = 0}, {.z = 1}, {.z = 1}}), HasSubstr("not evenly spaced"));
  // A slice of a micro-CT that is missing.
  EXPECT_THAT(read({{.z = 0}, {.z = 0.0007}, {.z = 0.0021}}), HasSubstr("not evenly spaced"));
  EXPECT_EQ(read({{.z = 0}, {.z = 0.0007}, {.z = 0.0014}}), "");
  EXPECT_THAT(read({{.z = 0}, {.z = 1, .orientation = "0\\1\\0\\1\\0\\0"}}), HasSubstr("differ"));
  // What has no order must not be sorted.
  EXPECT_THAT(read({{.orientation = "1e200\\0\\0\\0\\1e200\\0"}, {.z = 1}}),
              HasSubstr("Image Orientation (Patient) has the value 1e+200; legal is -1e+06 to"));
  EXPECT_THAT(read({{.z = 0}, {.z = 1, .pixels = {1, 2}}}), HasSubstr("truncated"));
  EXPECT_EQ(ReadDicomSeries("/nonexistent").status().code(), absl::StatusCode::kNotFound);
}

TEST(DicomSeries, NeighboursOfAGapAreNamedAndNoInnocentFile) {
  const auto read = [](const std::vector<double>& places) {
    TemporaryDirectory directory;
    for (size_t i = 0; i < places.size(); ++i) {
      Write(directory / absl::StrCat(i, ".dcm"), {.z = places[i]});
    }
    return std::string(ReadDicomSeries(directory.path()).status().message());
  };
  const std::string gap = read({0, 1.5, 3, 4.5, 12, 13.5, 15});
  EXPECT_THAT(gap, HasSubstr("3.dcm (at 4.5 mm) and "));
  EXPECT_THAT(gap, HasSubstr("4.dcm (at 12 mm) are 7.5 mm, between most others 1.5 mm: about 4 "));
  EXPECT_THAT(gap, Not(HasSubstr("1.dcm")));
  EXPECT_THAT(read({0, 1.5, 3, 3, 4.5}),
              AllOf(HasSubstr("2.dcm"), HasSubstr("3.dcm (at 3 mm) are at the same place")));
  EXPECT_THAT(read({0, 1.5, 3, 3.7, 5.2, 6.7}),
              HasSubstr("3.dcm (at 3.7 mm) are 0.7 mm, between most others 1.5 mm"));
}

TEST(DicomSeries, FilesThatAreCutAreNamed) {
  TemporaryDirectory directory;
  for (int k = 0; k < 4; ++k) Write(directory / absl::StrCat(k, ".dcm"), {.z = double(k)});
  const std::string whole = client_test::ReadBytes(directory / "1.dcm");
  const auto read = [&](const std::string& bytes) {
    client_test::WriteBytes(directory / "1.dcm", bytes);
    return std::string(ReadDicomSeries(directory.path()).status().message());
  };
  EXPECT_EQ(read(whole), "");
  const auto says = [](const char* what) { return AllOf(HasSubstr("1.dcm: "), HasSubstr(what)); };
  EXPECT_THAT(read(""), says("truncated: it is empty, 0 bytes"));
  EXPECT_THAT(read(whole.substr(0, 60)), says("it has 60 bytes; legal is 144 and more"));
  EXPECT_THAT(read(whole.substr(0, 200)), says("truncated: group 0002 has"));
  EXPECT_THAT(read(whole.substr(0, whole.size() - 5)),
              says("truncated: it ends inside of an element"));
}

}  // namespace
}  // namespace isocenter::formats
