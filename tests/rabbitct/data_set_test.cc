// From `isocenter simulate --format rabbitct` through the module to a volume, against our own
// reconstruction of the same acquisition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/formats/bundle.h"
#include "kernels/backends.h"
#include "kernels/recon/reconstructor.h"
#include "tests/client/test_files.h"
#include "tests/rabbitct/mini_runner.h"

namespace isocenter::rabbitct_test {
namespace {

using client_test::ReadBytes;
using client_test::TemporaryDirectory;
using testing::HasSubstr;

constexpr int kFrames = 62;  // two batches of the module, chunks of another size in the plan
constexpr Detector kDetector{.columns = 156, .rows = 120, .pitch_u_mm = 2.56, .pitch_v_mm = 2.56};
constexpr int kEdge = 128;
constexpr float kVoxelMm = 2;

/// Runs the command; the exit status.
int Isocenter(const std::string& arguments, const std::filesystem::path& messages = "/dev/null") {
  const int status = std::system(
      absl::StrCat(ISOCENTER_BINARY, " ", arguments, " >/dev/null 2>", messages.string()).c_str());
  return WEXITSTATUS(status);
}

std::string Acquisition(const std::string& pixel) {
  return absl::StrCat("simulate --phantom shepp-logan --trajectory carm --frames ", kFrames,
                      " --detector ", kDetector.columns, "x", kDetector.rows, " --pitch-mm ",
                      kDetector.pitch_u_mm, " --pixel ", pixel, " --photons 100000 --out ");
}

RunOptions Small() { return {.voxels_per_edge = kEdge, .voxel_mm = kVoxelMm}; }

class DataSetTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { setenv("ISOCENTER_RABBITCT_BACKEND", "cpu", 1); }
  void TearDown() override { unsetenv("ISOCENTER_RABBITCT_BACKEND"); }
};

/// Our own reconstruction of a bundle on the benchmark's grid, HU.
std::vector<float> ReconstructBundle(const std::filesystem::path& path) {
  const auto source = *formats::OpenBundle(path);
  const v1::AcquisitionHeader& header = source->header();
  const bool counts = header.pixel_type() == v1::PIXEL_TYPE_UINT16_COUNTS;
  recon::Acquisition acquisition{.detector = kDetector,
                                 .pixel_type = counts ? recon::PixelType::kUint16Counts
                                                      : recon::PixelType::kFloat32LineIntegrals,
                                 .i0_counts = counts ? header.i0_counts() : 1};
  for (const auto& stored : header.matrices().matrix()) {
    ProjectionMatrix matrix;
    for (int i = 0; i < 12; ++i) matrix.m[i] = stored.value(i);
    acquisition.trajectory.push_back(matrix);
  }
  const Shape3 shape{kFrames, kDetector.rows, kDetector.columns};
  std::vector<std::byte> bytes(static_cast<size_t>(kFrames * source->frame_bytes()));
  for (int i = 0; i < kFrames; ++i) {
    const auto frame = std::span(bytes).subspan(i * source->frame_bytes(), source->frame_bytes());
    EXPECT_TRUE(source->Read(i, frame).ok());
  }
  ops::RawFrames frames;
  if (counts) {
    frames.counts = {reinterpret_cast<const uint16_t*>(bytes.data()), shape};
  } else {
    frames.line_integrals = {reinterpret_cast<const float*>(bytes.data()), shape};
  }
  const VolumeGrid grid = CenteredGrid(kEdge, kEdge, kEdge, {kVoxelMm, kVoxelMm, kVoxelMm});
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan = recon::MakePlan(acquisition, grid, {}, Backends(), *device);
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<float> volume(static_cast<size_t>(grid.voxels()));
  EXPECT_TRUE(
      recon::ReconstructAll(*plan, Backends(), *device, frames, {volume.data(), grid.shape()})
          .ok());
  return volume;
}

TEST_P(DataSetTest, ModuleGivesOurOwnReconstruction) {
  TemporaryDirectory directory;
  ASSERT_EQ(Isocenter(Acquisition(GetParam()) + (directory / "bundle").string()), 0);
  ASSERT_EQ(Isocenter(Acquisition(GetParam()) + (directory / "data").string() +
                      " --format rabbitct --rabbitct-size 128"),
            0);
  const auto data = ReadDataSet(directory / "data", 1);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->matrices.size(), size_t{kFrames});
  ASSERT_EQ(data->references.size(), 1u);

  const auto outcome = RunModule(RABBITCT_MODULE, *data, Small());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_EQ(outcome->failed, "");
  const std::vector<float> own = ReconstructBundle(directory / "bundle");
  double largest = 0, water = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const double hu =
        data->hu_scaling[0] * outcome->volume[i] + data->hu_scaling[1] - 1000;  // air is 0 there
    largest = std::max(largest, std::abs(hu - own[i]));
    water = std::max<double>(water, own[i]);
  }
  EXPECT_GT(water, 500);  // there is something to see
  // The same weights, filter and kernel, and sums that do not depend on how views are divided
  // between calls: what is left is the rounding of some 1000 HU in float32, 1.2e-4 seen.
  EXPECT_LT(largest, 5e-4);
  // For the same reason the runner finds nothing to complain about on the CPU.
  EXPECT_EQ(RunnerError(*data, outcome->volume, data->references[0]), 0);
}

INSTANTIATE_TEST_SUITE_P(Pixels, DataSetTest, testing::Values("counts", "line-integrals"),
                         [](const auto& info) { return info.index == 0 ? "Counts" : "Lines"; });

TEST(DataSet, BothLayoutsHoldTheSame) {
  TemporaryDirectory directory;
  const std::string few = absl::StrCat(
      "simulate --phantom head --frames 20 --detector 40x30 --pitch-mm 10 --rabbitct-size 128 ");
  ASSERT_EQ(Isocenter(few + "--out " + (directory / "a.rct").string()), 0);
  ASSERT_EQ(Isocenter(few + "--rabbitct-version 2 --out " + (directory / "b.rctd").string()), 0);
  const auto first = ReadDataSet(directory / "a.rct", 1);
  const auto second = ReadDataSet(directory / "b.rctd", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->matrices, second->matrices);
  EXPECT_EQ(first->images, second->images);
  EXPECT_EQ(first->references, second->references);
  EXPECT_EQ(first->hu_scaling, second->hu_scaling);
}

TEST(DataSet, ReferencesGoUpToTheSizeThatIsAskedFor) {
  TemporaryDirectory directory;
  ASSERT_EQ(Isocenter("simulate --phantom head --frames 20 --detector 40x30 --pitch-mm 10 --out " +
                      (directory / "a.rct").string() + " --rabbitct-size 256"),
            0);
  const auto data = ReadDataSet(directory / "a.rct", 1);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->references.size(), 2u);
}

TEST(DataSet, CommandsSayWhatIsWrong) {
  TemporaryDirectory directory;
  const std::string few =
      "simulate --phantom head --frames 20 --detector 40x30 --pitch-mm 10 --out " +
      (directory / "a.rct").string();
  EXPECT_EQ(Isocenter(few + " --rabbitct-size 300"), 2);
  EXPECT_EQ(Isocenter(few + " --rabbitct-version 3"), 2);
  EXPECT_EQ(Isocenter(few + " --format dicom"), 2);
  // Filtered projections must not be filtered again.
  ASSERT_EQ(Isocenter(few + " --rabbitct-size 128"), 0);
  EXPECT_EQ(Isocenter("stream " + (directory / "a.rct").string(), directory / "messages"), 1);
  EXPECT_THAT(ReadBytes(directory / "messages"), HasSubstr("holds filtered projections"));
}

}  // namespace
}  // namespace isocenter::rabbitct_test
