#include "client/formats/nifti.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "client/formats/raw_volume.h"
#include "client/formats/volume_input.h"
#include "client/formats/volume_writer.h"
#include "tests/client/test_files.h"

namespace isocenter::formats {
namespace {

using client_test::Bytes;
using client_test::TemporaryDirectory;
using client_test::WriteBytes;
using testing::HasSubstr;

constexpr size_t kGzipHeaderBytes = 10;  // RFC 1952: their changes need not matter

/// As gzip makes it of `bytes`.
std::string Gzipped(const std::string& bytes) {
  TemporaryDirectory directory;
  const std::string path = directory / "packed";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), bytes.size());
  gzclose(file);
  return client_test::ReadBytes(path);
}

/// A header with fields at the offsets of nifti1.h: 2 x 1 x 2 voxels of int16, no transform.
class NiftiBytes {
 public:
  NiftiBytes() : bytes_(352, '\0') {
    Set<int32_t>(0, 348);
    const int16_t dim[] = {3, 2, 1, 2, 1, 1, 1, 1};
    for (int i = 0; i < 8; ++i) Set<int16_t>(40 + 2 * i, dim[i]);
    Set<int16_t>(70, 4);
    for (int a = 0; a < 4; ++a) Set<float>(76 + 4 * a, a == 0 ? 1.0f : 0.5f * a);
    Set<float>(108, 352);
    bytes_.replace(344, 4, std::string("n+1\0", 4));
    for (const int16_t v : {1, 2, 3, 4}) data_ += Bytes(v);
  }
  template <class T>
  NiftiBytes& Set(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }
  std::string str() const { return bytes_ + data_; }

 private:
  std::string bytes_, data_;
};

absl::StatusOr<Volume> Read(const std::string& bytes) {
  TemporaryDirectory directory;
  WriteBytes(directory / "v.nii", bytes);
  return ReadNifti(directory / "v.nii");
}

TEST(Nifti, WithoutTransformRasBecomesLpsByTurningXAndY) {
  const absl::StatusOr<Volume> volume = Read(NiftiBytes().str());
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_EQ(volume->voxels, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(volume->grid.spacing, (Vec3{0.5, 1, 1.5}));
  EXPECT_EQ(volume->grid.direction, (std::array<double, 9>{-1, 0, 0, 0, -1, 0, 0, 0, 1}));
}

TEST(Nifti, SformWinsOverQformAndSetsOriginAndAxes) {
  NiftiBytes bytes;
  bytes.Set<int16_t>(252, 1).Set<int16_t>(254, 1);
  // RAS = (-2 i + 10, 3 j - 20, 4 k + 30): LPS x = 2 i - 10, y = -3 j + 20. Left-handed in LPS.
  const float rows[] = {-2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30};
  for (int i = 0; i < 12; ++i) bytes.Set<float>(280 + 4 * i, rows[i]);
  const absl::StatusOr<Volume> volume = Read(bytes.str());
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_EQ(volume->grid.spacing, (Vec3{2, 3, 4}));
  // The slices are reversed to make the axes right-handed.
  EXPECT_EQ(volume->grid.direction, (std::array<double, 9>{1, 0, 0, 0, -1, 0, 0, 0, -1}));
  EXPECT_EQ(volume->grid.origin, (Vec3{-10, 20, 34}));
  EXPECT_EQ(volume->voxels, (std::vector<float>{3, 4, 1, 2}));
}

TEST(Nifti, QformRotatesByItsQuaternion) {
  NiftiBytes bytes;
  bytes.Set<int16_t>(252, 1);
  bytes.Set<float>(264, std::sqrt(0.5f));  // d: 90 degrees about z; RAS x index along +y
  bytes.Set<float>(268, 1).Set<float>(272, 2).Set<float>(276, 3);
  const absl::StatusOr<Volume> volume = Read(bytes.str());
  ASSERT_TRUE(volume.ok()) << volume.status();
  const std::array<double, 9> expected{0, 1, 0, -1, 0, 0, 0, 0, 1};
  for (int i = 0; i < 9; ++i) {
    // float32 quaternion
    EXPECT_NEAR(volume->grid.direction[i], expected[i], 1e-6) << i;
  }
  EXPECT_EQ(volume->grid.origin, (Vec3{-1, -2, 3}));
}

TEST(Nifti, RescalesAndReadsGzip) {
  TemporaryDirectory directory;
  const std::string bytes = NiftiBytes().Set<float>(112, 2).Set<float>(116, -1000).str();
  WriteBytes(directory / "v.nii.gz", Gzipped(bytes));
  const absl::StatusOr<Volume> volume = ReadVolume(directory / "v.nii.gz");
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_EQ(volume->voxels, (std::vector<float>{-998, -996, -994, -992}));
}

TEST(Nifti, SeveralGzipMembersAreOneFile) {
  const std::string bytes = NiftiBytes().str();
  for (const size_t cut : {size_t{1}, size_t{348}, bytes.size() - 1}) {
    const absl::StatusOr<Volume> volume =
        Read(Gzipped(bytes.substr(0, cut)) + Gzipped(bytes.substr(cut)));
    ASSERT_TRUE(volume.ok()) << cut << volume.status();
    EXPECT_EQ(volume->voxels, (std::vector<float>{1, 2, 3, 4}));
  }
}

// Every cut, and a changed bit in every byte of the compressed data and their checksum.
TEST(Nifti, DamagedGzipIsNeverAnotherVolume) {
  const std::string packed = Gzipped(NiftiBytes().str());
  for (size_t cut = 0; cut < packed.size(); ++cut) {
    EXPECT_FALSE(Read(packed.substr(0, cut)).ok()) << cut;
  }
  const absl::Status short_of_checksum = Read(packed.substr(0, packed.size() - 1)).status();
  EXPECT_EQ(short_of_checksum.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(short_of_checksum.message()),
              HasSubstr("is truncated: the compressed data end after 360 bytes"));
  size_t refused = 0;
  for (size_t at = kGzipHeaderBytes; at < packed.size(); ++at) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    const absl::StatusOr<Volume> read = Read(damaged);
    refused += !read.ok();
    // Deflate can say the same bytes in several ways.
    if (read.ok()) EXPECT_EQ(read->voxels, (std::vector<float>{1, 2, 3, 4})) << at;
  }
  EXPECT_GT(refused, packed.size() / 2);
  std::string wrong_checksum = packed;
  wrong_checksum[packed.size() - 8] ^= 1;
  EXPECT_THAT(std::string(Read(wrong_checksum).status().message()),
              HasSubstr("compressed data are damaged after 360 bytes (incorrect data check)"));
}

// Ten million zeros in a few kilobytes, behind a header of 16 bytes of voxels.
TEST(Nifti, WhatGzipHidesBehindTheVoxelsIsNotInflated) {
  const std::string bomb = Gzipped(NiftiBytes().str() + std::string(10'000'000, '\0'));
  ASSERT_LT(bomb.size(), 60'000u);
  EXPECT_THAT(std::string(Read(bomb).status().message()),
              HasSubstr("more data than its header says"));
}

TEST(Nifti, AHeaderMayNotClaimMoreThanGzipCanHavePacked) {
  const std::string claim = Gzipped(
      NiftiBytes().Set<int16_t>(42, 4096).Set<int16_t>(44, 4096).Set<int16_t>(46, 4096).str());
  const absl::Status status = Read(claim).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("4096 x 4096 x 4096 voxels cannot be in"));
}

TEST(Nifti, HostileFilesAreRefused) {
  const std::string good = NiftiBytes().str();
  const std::pair<std::string, const char*> cases[] = {
      {"", "truncated"},
      {good.substr(0, 200), "truncated"},
      {good.substr(0, good.size() - 1), "truncated"},
      {good + "a", "more data than its header says"},
      {std::string(400, 'x'), "not a single-file NIfTI-1"},
      {NiftiBytes().Set<int16_t>(40, 2).str(), "dim[0]"},
      {NiftiBytes().Set<int16_t>(40, -1).str(), "dim[0]"},
      {NiftiBytes().Set<int16_t>(40, 4).Set<int16_t>(48, 7).str(), "dim[0]"},
      {NiftiBytes().Set<int16_t>(42, -5).str(), "size"},
      {NiftiBytes().Set<int16_t>(42, 32767).str(), "size"},
      {NiftiBytes().Set<int16_t>(42, 4096).Set<int16_t>(44, 4096).Set<int16_t>(46, 4096).str(),
       "truncated"},
      {NiftiBytes().Set<int16_t>(70, 128).str(), "datatype"},
      {NiftiBytes().Set<float>(108, -1).str(), "vox_offset"},
      {NiftiBytes().Set<float>(80, 0).str(), "spacing"},
  };
  for (const auto& [bytes, part] : cases) {
    const absl::Status status = Read(bytes).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
}

// As much as gzip could have packed into the file, and more than a machine's memory.
TEST(Nifti, ALargeFileMayNotClaimMoreThanThereIs) {
  TemporaryDirectory directory;
  const auto path = directory / "v.nii.gz";
  const std::string bytes = NiftiBytes()
                                .Set<int16_t>(42, 4096)
                                .Set<int16_t>(44, 4096)
                                .Set<int16_t>(46, 4096)
                                .Set<int16_t>(70, 2)
                                .str();
  WriteBytes(path, Gzipped(bytes));
  std::filesystem::resize_file(path, 64 << 20);  // a hole
  const absl::Status status = ReadNifti(path).status();
  // On machines whose memory would do, the data end.
  EXPECT_THAT(status.code(),
              testing::AnyOf(absl::StatusCode::kResourceExhausted, absl::StatusCode::kDataLoss));
  EXPECT_THAT(std::string(status.message()),
              testing::AnyOf(HasSubstr("68719476736 voxels needs 256 GiB of memory; "),
                             HasSubstr("truncated")));
}

TEST(RawVolume, IsCentredAndItsSizeMustMatch) {
  TemporaryDirectory directory;
  std::string data;
  for (int16_t v = 0; v < 24; ++v) data += Bytes(v);
  WriteBytes(directory / "v.raw", data);
  RawLayout layout{.nx = 2, .ny = 3, .nz = 4, .spacing = {1, 2, 3}};
  const absl::StatusOr<Volume> volume = ReadVolume(directory / "v.raw", layout);
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_EQ(volume->voxels[23], 23);
  EXPECT_EQ(volume->grid.origin, (Vec3{-0.5, -2, -4.5}));
  layout.nz = 5;
  const absl::Status status = ReadVolume(directory / "v.raw", layout).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("48 bytes"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("60"));
  EXPECT_THAT(std::string(ReadVolume(directory / "v.raw").status().message()),
              HasSubstr("--raw-shape"));
  EXPECT_THAT(std::string(ReadVolume(directory / "v.jpg").status().message()),
              HasSubstr(".nii.gz"));
}

TEST(Volume, CenteringPutsTheMiddleIntoTheIsocentre) {
  VolumeGrid grid{.nx = 4, .ny = 5, .nz = 6, .spacing = {1, 2, 3}, .origin = {100, 200, 300}};
  grid.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  CenterAtIsocenter(grid);
  const Vec3 middle = grid.VoxelToWorld(1.5, 2, 2.5);
  EXPECT_NEAR(Norm(middle), 0, 1e-12);  // rounding of values of about 10
}

VolumeGrid OddGrid() {
  return {.nx = 2,
          .ny = 1,
          .nz = 2,
          .spacing = {0.5, 1, 1.5},
          .origin = {10, -20, 30},
          .direction = {0, 1, 0, -1, 0, 0, 0, 0, 1}};
}

TEST(NiftiWriter, HasTheFieldsOfTheStandardAtTheirOffsets) {
  TemporaryDirectory directory;
  const Volume volume{.grid = OddGrid(), .voxels = {1, 2, 3, 4.5F}};
  ASSERT_TRUE(WriteVolume(directory / "v.nii", volume).ok());
  const std::string bytes = client_test::ReadBytes(directory / "v.nii");
  ASSERT_EQ(bytes.size(), 352u + 16);
  const auto number = [&bytes]<class T>(size_t offset, T) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  };
  EXPECT_EQ(number(0, int32_t{}), 348);
  EXPECT_EQ(number(40, int16_t{}), 3);
  EXPECT_EQ(number(46, int16_t{}), 2);
  EXPECT_EQ(number(70, int16_t{}), 16);
  EXPECT_EQ(number(108, float{}), 352);
  EXPECT_EQ(bytes.substr(344, 4), std::string("n+1\0", 4));
  // Along x of the grid LPS goes along -y... of RAS: rows of the transform by hand.
  const float rows[] = {0, -1, 0, -10, 0.5F, 0, 0, 20, 0, 0, 1.5F, 30};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(number(280 + 4 * i, float{}), rows[i]) << i;
  EXPECT_EQ(number(352 + 12, float{}), 4.5F);
}

TEST(NiftiWriter, ReadsBackAsItWasWritten) {
  TemporaryDirectory directory;
  const Volume volume{.grid = OddGrid(), .voxels = {1, 2, 3, 4.5F}};
  ASSERT_TRUE(WriteVolume(directory / "v.nii", volume).ok());
  const absl::StatusOr<Volume> back = ReadNifti(directory / "v.nii");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->voxels, volume.voxels);
  EXPECT_EQ(back->grid.spacing, volume.grid.spacing);
  EXPECT_EQ(back->grid.origin, volume.grid.origin);
  EXPECT_EQ(back->grid.direction, volume.grid.direction);
}

/// Of so many voxels that the buffers of zlib's streams are filled more than once.
Volume NoisyVolume() {
  Volume volume{.grid = OddGrid(), .voxels = {}};
  volume.grid.nx = volume.grid.ny = volume.grid.nz = 64;
  std::minstd_rand random(7);
  for (int64_t i = 0; i < volume.grid.voxels(); ++i) {
    volume.voxels.push_back(static_cast<float>(random() % 2000) - 1000.25F);
  }
  return volume;
}

TEST(NiftiWriter, GzHoldsWhatThePlainFileHas) {
  TemporaryDirectory directory;
  const Volume volume = NoisyVolume();
  ASSERT_TRUE(WriteVolume(directory / "v.nii", volume).ok());
  ASSERT_TRUE(WriteVolume(directory / "v.nii.gz", volume).ok());
  const std::string plain = client_test::ReadBytes(directory / "v.nii");
  std::string inflated(plain.size() + 1, '\0');
  const std::string packed_path = directory / "v.nii.gz";
  gzFile file = gzopen(packed_path.c_str(), "rb");
  EXPECT_FALSE(gzdirect(file));
  EXPECT_EQ(gzread(file, inflated.data(), inflated.size()), static_cast<int>(plain.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  inflated.pop_back();
  EXPECT_TRUE(inflated == plain);
  const absl::StatusOr<Volume> back = ReadVolume(packed_path);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->voxels, volume.voxels);
  EXPECT_LT(std::filesystem::file_size(packed_path), plain.size());
}

TEST(NiftiWriter, GzIsTheSameFileForTheSameVolumeHoweverItIsWritten) {
  TemporaryDirectory directory;
  const Volume volume = NoisyVolume();
  ASSERT_TRUE(WriteVolume(directory / "a.nii.gz", volume).ok());
  absl::StatusOr<NiftiWriter> writer = NiftiWriter::Create(directory / "b.nii.gz", volume.grid);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (size_t at = 0; at < volume.voxels.size(); at += 1 << 12) {
    ASSERT_TRUE(writer->Append(std::span(volume.voxels).subspan(at, 1 << 12)).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(client_test::ReadBytes(directory / "a.nii.gz") ==
              client_test::ReadBytes(directory / "b.nii.gz"));
}

TEST(NiftiWriter, RefusesAnotherNumberOfVoxelsAndLeavesWhatWasThere) {
  for (const char* name : {"v.nii", "v.nii.gz"}) {
    TemporaryDirectory directory;
    WriteBytes(directory / name, "older");
    {
      absl::StatusOr<NiftiWriter> writer = NiftiWriter::Create(directory / name, OddGrid());
      ASSERT_TRUE(writer.ok());
      EXPECT_FALSE(writer->Append(std::vector<float>(5)).ok());
      EXPECT_TRUE(writer->Append(std::vector<float>(3)).ok());
      EXPECT_EQ(writer->Finish().code(), absl::StatusCode::kFailedPrecondition);
    }
    EXPECT_EQ(client_test::ReadBytes(directory / name), "older");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(
                                std::filesystem::path(directory / name).parent_path()),
                            std::filesystem::directory_iterator()),
              1);
  }
}

TEST(VolumeNames, KeepTheirWholeEnding) {
  EXPECT_EQ(VolumeEnding("a/v.nii.gz"), ".nii.gz");
  EXPECT_EQ(VolumeEnding("v.nii"), ".nii");
  EXPECT_EQ(VolumeEnding("v.mha.gz"), ".gz");
  EXPECT_EQ(WithNameSuffix("a.b/v.1.nii.gz", "-2"), "a.b/v.1-2.nii.gz");
  EXPECT_EQ(WithNameSuffix("v.mha", "-water"), "v-water.mha");
}

}  // namespace
}  // namespace isocenter::formats
