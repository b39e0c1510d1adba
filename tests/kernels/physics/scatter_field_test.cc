#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/physics/scatter/field.h"

namespace isocenter::physics {
namespace {

using testing::HasSubstr;

constexpr Detector kDetector{.columns = 40, .rows = 12, .pitch_u_mm = 1, .pitch_v_mm = 1};

/// The scatter alone that a frame gets.
std::vector<Reading> Added(const ScatterField& field, int frame, const AntiScatterGrid& grid = {}) {
  ThreadPool pool(2);
  std::vector<Reading> readings(40 * 12, Reading{0, 0});
  field.AddTo(frame, grid, pool, readings);
  return readings;
}

/// Views of 4 x 3 cells of what `of` says.
template <typename Of>
ScatterViews Views(int views, const Of& of) {
  ScatterViews made{.views = views, .columns = 4, .rows = 3, .readings = {}};
  for (int k = 0; k < views; ++k) {
    for (int v = 0; v < 3; ++v) {
      for (int u = 0; u < 4; ++u) {
        const double signal = of(k, v, u);
        made.readings.push_back({signal, 2 * signal});
      }
    }
  }
  return made;
}

TEST(ScatterFrames, AreSpreadFromTheFirstToTheLast) {
  EXPECT_THAT(ScatterFrames(1, 10), testing::ElementsAre(0));
  EXPECT_THAT(ScatterFrames(2, 10), testing::ElementsAre(0, 9));
  EXPECT_THAT(ScatterFrames(4, 10), testing::ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(ScatterFrames(3, 4), testing::ElementsAre(0, 2, 3));
  EXPECT_THAT(ScatterFrames(5, 5), testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(ScatterField, IsLinearBetweenCellsAndFrames) {
  const ScatterField field(Views(3, [](int k, int v, int u) { return 100 * k + 10 * v + u; }),
                           kDetector, 21);
  // Smoothing leaves a slope as it is but in the outermost cells, which see 1/4 of the next one.
  const auto readings = Added(field, 13);
  const double frame = 130, row = 1 + 0.125 * 0.75;
  EXPECT_NEAR(readings[6 * 40 + 20].signal, frame + 10 * row + 20.5 / 10 - 0.5, 1e-9);
  EXPECT_NEAR(readings[6 * 40 + 20].variance, 2 * readings[6 * 40 + 20].signal, 1e-9);
  EXPECT_NEAR(readings[0].signal, frame + 10 * 0.25 + 0.25, 1e-9);
  EXPECT_NEAR(readings.back().signal, frame + 10 * 1.75 + 2.75, 1e-9);
  EXPECT_NEAR(Added(field, 20)[6 * 40 + 20].signal, readings[6 * 40 + 20].signal + 70, 1e-9);
}

TEST(ScatterField, SmoothsACell) {
  const ScatterField field(Views(1, [](int, int v, int u) { return v == 1 && u == 1 ? 16 : 0; }),
                           {.columns = 4, .rows = 3, .pitch_u_mm = 1, .pitch_v_mm = 1}, 5);
  ThreadPool pool(1);
  std::vector<Reading> readings(12, Reading{0, 0});
  field.AddTo(4, {}, pool, readings);
  const double expected[] = {1, 2, 1, 0, 2, 4, 2, 0, 1, 2, 1, 0};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(readings[i].signal, expected[i], 1e-12) << i;
}

// A grid of 0.7 and 0.1: the primary is the unit of signals, and fewer photons are noisier.
TEST(ScatterField, WeighsByTheGrid) {
  const ScatterField field(Views(1, [](int, int, int) { return 0.7; }), kDetector, 5);
  ThreadPool pool(1);
  std::vector<Reading> readings(40 * 12, Reading{0.5, 0.6});
  field.AddTo(2, {.primary = 0.7, .scatter = 0.1}, pool, readings);
  EXPECT_NEAR(readings[77].signal, 0.5 + 0.1, 1e-12);
  EXPECT_NEAR(readings[77].variance, (0.6 + 0.2) / 0.7, 1e-12);
}

TEST(ScatterSettings, HaveRanges) {
  const auto error = [](const ScatterSettings& settings) {
    return std::string(ValidateScatterSettings(settings).message());
  };
  EXPECT_EQ(error({}), "");
  EXPECT_THAT(error({.photons_per_view = 999}),
              HasSubstr("scatter.photons_per_view is 999; legal is 1000 to 1000000000"));
  EXPECT_THAT(error({.photons_per_view = 1'000'000'001}), HasSubstr("photons_per_view"));
  EXPECT_THAT(error({.views = 0}), HasSubstr("scatter.views is 0; legal is 1 to 360"));
  EXPECT_THAT(error({.views = 361}), HasSubstr("scatter.views is 361"));
  EXPECT_THAT(error({.columns = 1}), HasSubstr("scatter.columns is 1; legal is 2 to 256"));
  EXPECT_THAT(error({.rows = 257}), HasSubstr("scatter.rows is 257; legal is 2 to 256"));
  EXPECT_THAT(error({.views = 360, .columns = 200, .rows = 200}),
              HasSubstr("views x columns x rows is 14400000; legal is 1 to 4194304"));
  EXPECT_THAT(error({.grid = {.primary = 0}}),
              HasSubstr("scatter.grid_primary is 0; legal is 0.01 to 1"));
  EXPECT_THAT(error({.grid = {.scatter = 1.1}}),
              HasSubstr("scatter.grid_scatter is 1.1; legal is 0.001 to 1"));
  EXPECT_THAT(error({.grid = {.scatter = std::nan("")}}), HasSubstr("grid_scatter is nan"));
}

}  // namespace
}  // namespace isocenter::physics
