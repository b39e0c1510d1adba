// Planes of bricks, held against the plain volume, at every level and along every axis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/time/clock.h"
#include "server/viewer/brick_file.h"
#include "server/viewer/raw_volume.h"
#include "server/viewer/volume_cache.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::viewer {
namespace {

using ::testing::HasSubstr;

constexpr Axis kAxes[] = {Axis::kAxial, Axis::kCoronal, Axis::kSagittal};

/// Plain halving, level after level, as the contract says it.
std::vector<std::vector<int16_t>> HalvedAgainAndAgain(const std::vector<float>& values,
                                                      const Extent& extent) {
  std::vector<std::vector<int16_t>> levels(1);
  for (const float value : values) levels[0].push_back(ToInt16(value));
  const std::vector<Extent> extents = LevelsOf(extent);
  for (size_t i = 1; i < extents.size(); ++i) {
    const Extent& fine = extents[i - 1];
    const Extent& coarse = extents[i];
    std::vector<int16_t> level;
    for (int z = 0; z < coarse.nz; ++z) {
      for (int y = 0; y < coarse.ny; ++y) {
        for (int x = 0; x < coarse.nx; ++x) {
          double sum = 0;
          int count = 0;
          for (int part = 0; part < 8; ++part) {
            const int fx = 2 * x + part % 2, fy = 2 * y + part / 2 % 2, fz = 2 * z + part / 4;
            if (fx >= fine.nx || fy >= fine.ny || fz >= fine.nz) continue;
            sum += levels[i - 1][(size_t{1} * fz * fine.ny + fy) * fine.nx + fx];
            ++count;
          }
          level.push_back(static_cast<int16_t>(std::nearbyint(sum / count)));
        }
      }
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

class ViewerTest : public ::testing::Test {
 protected:
  RawVolume Write(const Extent& extent, const std::string& name = "volume.f32") {
    values_.clear();
    for (int64_t i = 0; i < extent.voxels(); ++i) {
      values_.push_back(static_cast<float>(1000 * std::sin(static_cast<double>(i) * 0.37)) +
                        static_cast<float>(i % 97));
    }
    return WriteValues(extent, name);
  }
  RawVolume WriteValues(const Extent& extent, const std::string& name) {
    const auto path = files_.path() / name;
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values_.data()),
               static_cast<std::streamsize>(values_.size() * sizeof(float)));
    return *RawVolume::Open(path, extent);
  }
  static bool Always() { return true; }

  isocenter::testing::TemporaryDirectory files_;
  std::vector<float> values_;
};

TEST_F(ViewerTest, LevelsEndWhereTheVolumeIsSmall) {
  EXPECT_EQ(LevelsOf({128, 128, 128}).size(), 1u);
  const auto levels = LevelsOf({512, 300, 129});
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[1], (Extent{256, 150, 65}));
  EXPECT_EQ(levels[2], (Extent{128, 75, 33}));
}

TEST_F(ViewerTest, EveryPlaneOfEveryLevelIsRight) {
  const Extent extent{70, 139, 45};  // no multiple of a brick; two levels
  const RawVolume raw = Write(extent);
  const auto bricks = BrickFile::Build(raw, files_.path() / "bricks", Always);
  ASSERT_TRUE(bricks.ok()) << bricks.status();
  const auto expected = HalvedAgainAndAgain(values_, extent);
  ASSERT_EQ(bricks->levels().size(), 2u);
  for (int level = 0; level < 2; ++level) {
    const Extent& at = bricks->levels()[level];
    const auto value = [&](int x, int y, int z) {
      return expected[level][(size_t{1} * z * at.ny + y) * at.nx + x];
    };
    for (const Axis axis : kAxes) {
      const int planes = axis == Axis::kAxial ? at.nz : axis == Axis::kCoronal ? at.ny : at.nx;
      for (int index = 0; index < planes; ++index) {
        const auto plane = bricks->ReadPlane(level, axis, index);
        ASSERT_TRUE(plane.ok());
        for (int row = 0; row < plane->rows; ++row) {
          for (int column = 0; column < plane->columns; ++column) {
            const int16_t want = axis == Axis::kAxial     ? value(column, row, index)
                                 : axis == Axis::kCoronal ? value(column, index, row)
                                                          : value(index, column, row);
            ASSERT_EQ(plane->hounsfield[size_t{1} * row * plane->columns + column], want)
                << "level " << level << " axis " << static_cast<int>(axis) << " index " << index;
          }
        }
      }
    }
  }
  EXPECT_EQ(bricks->least(), *std::ranges::min_element(expected[0]));
  EXPECT_EQ(bricks->largest(), *std::ranges::max_element(expected[0]));
}

TEST_F(ViewerTest, RawPlanesAreThoseOfBricks) {
  const RawVolume raw = Write({33, 40, 35});
  const auto bricks = BrickFile::Build(raw, files_.path() / "bricks", Always);
  for (const Axis axis : {Axis::kAxial, Axis::kCoronal}) {
    for (const int index : {0, 17, 32}) {
      EXPECT_EQ(raw.ReadPlane(axis, index)->hounsfield,
                bricks->ReadPlane(0, axis, index)->hounsfield);
    }
  }
  EXPECT_TRUE(absl::IsInvalidArgument(raw.ReadPlane(Axis::kSagittal, 0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(raw.ReadPlane(Axis::kAxial, 35).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(bricks->ReadPlane(1, Axis::kAxial, 0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(bricks->ReadPlane(0, Axis::kSagittal, 33).status()));
}

TEST_F(ViewerTest, ValuesWithoutAPlaceInInt16AreBounded) {
  values_ = {1e9f, -1e9f, std::numeric_limits<float>::quiet_NaN(), 0.5f, 1.5f, -2.4f, 7, 8};
  const RawVolume raw = WriteValues({2, 2, 2}, "odd");
  const std::vector<int16_t> first = raw.ReadPlane(Axis::kAxial, 0)->hounsfield;
  EXPECT_EQ(first, (std::vector<int16_t>{32767, -32767, -32767, 0}));
}

TEST_F(ViewerTest, AFileOfAnotherLengthIsRefused) {
  Write({8, 8, 8});
  const auto volume = RawVolume::Open(files_.path() / "volume.f32", {8, 8, 9});
  EXPECT_EQ(volume.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(absl::IsNotFound(RawVolume::Open(files_.path() / "none", {8, 8, 8}).status()));
}

TEST_F(ViewerTest, AnInterruptedPreparationLeavesNothing) {
  const RawVolume raw = Write({64, 64, 64});
  int pieces = 0;
  const auto bricks = BrickFile::Build(raw, files_.path() / "bricks", [&] { return ++pieces < 3; });
  EXPECT_TRUE(absl::IsCancelled(bricks.status()));
  EXPECT_FALSE(std::filesystem::exists(files_.path() / "bricks"));
}

class VolumeCacheTest : public ViewerTest {
 protected:
  static constexpr int64_t kOne = BrickFile::kBrickBytes;  // a volume of one brick
  void Open(int64_t capacity) { cache_ = *VolumeCache::Open(files_.path() / "cache", capacity); }
  absl::StatusOr<std::shared_ptr<const BrickFile>> Get(const std::string& id,
                                                       const RawVolume& raw) {
    const auto path = files_.path() / id;
    (void)raw;
    return cache_->Get(id, std::make_shared<const RawVolume>(*RawVolume::Open(path, {16, 16, 16})));
  }
  absl::Status Await(const std::string& id, const RawVolume& raw) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    absl::Status status;
    do {
      status = Get(id, raw).status();
      if (!absl::IsUnavailable(status)) return status;
      absl::SleepFor(absl::Milliseconds(1));
    } while (absl::Now() < deadline);
    return status;
  }
  int Files() const {
    int files = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(files_.path() / "cache")) {
      ++files;
    }
    return files;
  }
  std::unique_ptr<VolumeCache> cache_;
};

TEST_F(VolumeCacheTest, PreparesOnceAndForgets) {
  Open(10 * kOne);
  const RawVolume raw = Write({16, 16, 16}, "a");
  EXPECT_TRUE(absl::IsUnavailable(Get("a", raw).status()));
  ASSERT_TRUE(Await("a", raw).ok());
  EXPECT_EQ(Get("a", raw)->get(), Get("a", raw)->get());
  EXPECT_EQ(Files(), 1);
  cache_->Forget("a");
  EXPECT_EQ(Files(), 0);
}

TEST_F(VolumeCacheTest, WhatWasNotLookedAtForLongestMakesRoom) {
  Open(2 * kOne);
  const RawVolume a = Write({16, 16, 16}, "a"), b = Write({16, 16, 16}, "b"),
                  c = Write({16, 16, 16}, "c");
  ASSERT_TRUE(Await("a", a).ok());
  ASSERT_TRUE(Await("b", b).ok());
  const auto kept = Get("a", a);
  ASSERT_TRUE(kept.ok());
  ASSERT_TRUE(Await("c", c).ok());
  EXPECT_EQ(Files(), 2);
  EXPECT_TRUE(Get("a", a).ok());
  EXPECT_TRUE(absl::IsUnavailable(Get("b", b).status()));
  EXPECT_TRUE((*kept)->ReadPlane(0, Axis::kAxial, 0).ok());
}

TEST_F(VolumeCacheTest, WhatDoesNotFitIsRefused) {
  Open(kOne - 1);
  const RawVolume a = Write({16, 16, 16}, "a");
  const absl::Status status = Await("a", a);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("volume_cache_bytes"));
}

TEST_F(VolumeCacheTest, WhatIsPromisedToResultsIsNotTaken) {
  cache_ = *VolumeCache::Open(files_.path() / "cache", 10 * kOne, [] { return int64_t{1} << 60; });
  const RawVolume a = Write({16, 16, 16}, "a");
  const absl::Status status = Await("a", a);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the disk is full"));
}

TEST_F(VolumeCacheTest, AReplacedVolumeIsPreparedAgain) {
  Open(10 * kOne);
  const RawVolume first = Write({16, 16, 16}, "a");
  ASSERT_TRUE(Await("a", first).ok());
  const int16_t before = (*Get("a", first))->ReadPlane(0, Axis::kAxial, 0)->hounsfield[0];
  values_.assign(16 * 16 * 16, 1234);
  const RawVolume second = WriteValues({16, 16, 16}, "a");
  EXPECT_NE(first.version(), second.version());
  ASSERT_TRUE(Await("a", second).ok());
  EXPECT_NE(before, 1234);
  EXPECT_EQ((*Get("a", second))->ReadPlane(0, Axis::kAxial, 0)->hounsfield[0], 1234);
}

TEST_F(VolumeCacheTest, AnEarlierRunLeavesNothing) {
  Open(10 * kOne);
  std::ofstream(files_.path() / "cache" / "old.1.bricks") << "x";
  std::ofstream(files_.path() / "cache" / "not ours") << "x";
  Open(10 * kOne);
  EXPECT_EQ(Files(), 1);
}

}  // namespace
}  // namespace isocenter::viewer
