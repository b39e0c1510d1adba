// What a physicist is told of a room's constancy: known series of figures.
#include "client/cli/qa/trend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace isocenter::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kDay = 86400, kBegin = 1'760'000'000;

/// Newest first, as the server lists; of `days` after the baseline, whose tolerance is 2.
v1::ListQualityResponse Series(const std::vector<std::pair<int, double>>& oldest_first,
                               const std::string& station = "room1") {
  v1::ListQualityResponse list;
  for (auto point = oldest_first.rbegin(); point != oldest_first.rend(); ++point) {
    v1::QualityResult& result = *list.add_result();
    result.set_id(absl::StrCat("q", point->first));
    result.set_station_name(station);
    result.set_protocol("fdk");
    result.set_phantom("quality");
    result.set_baseline(std::next(point) == oldest_first.rend());
    result.mutable_record_time()->set_seconds(kBegin + point->first * kDay);
    v1::QualityMeasure& measure = *result.add_measure();
    measure.set_name("noise_hu");
    measure.set_value(point->second);
    measure.set_tolerance(2);
  }
  return list;
}

FigureTrend Only(const v1::ListQualityResponse& list) {
  const std::vector<RoomTrend> rooms = TrendsOf(list.result());
  EXPECT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms.front().figures.size(), 1u);
  return rooms.front().figures.front();
}

TEST(Trend, LevelsAreTwoThirdsOfTheToleranceAndTheTolerance) {
  EXPECT_EQ(Only(Series({{0, 10}, {30, 11.3}})).level, ConstancyLevel::kWithin);
  EXPECT_EQ(Only(Series({{0, 10}, {30, 8.6}})).level, ConstancyLevel::kWatch);
  const FigureTrend beyond = Only(Series({{0, 10}, {30, 12.5}}));
  EXPECT_EQ(beyond.level, ConstancyLevel::kAction);
  EXPECT_DOUBLE_EQ(beyond.share(), 1.25);
  EXPECT_EQ(beyond.tests, 2);
  EXPECT_DOUBLE_EQ(beyond.mean, 11.25);
  // 2.5 / √2, of two values that are 2.5 apart.
  EXPECT_NEAR(beyond.sd, 1.7678, 1e-4);
  EXPECT_FALSE(beyond.drift.has_value());
}

TEST(Trend, ALineSaysWhenItLeavesTheTolerance) {
  // 0.01 for each day: 0.3 in 30 days; 2 are reached 200 days after the baseline.
  const FigureTrend figure =
      Only(Series({{0, 10}, {30, 10.3}, {60, 10.6}, {90, 10.9}, {120, 11.2}}));
  ASSERT_TRUE(figure.drift.has_value());
  EXPECT_NEAR(*figure.drift, 0.3, 1e-9);
  ASSERT_TRUE(figure.leaves.has_value());
  EXPECT_NEAR(absl::ToUnixSeconds(*figure.leaves), kBegin + 200 * kDay, 60);
}

TEST(Trend, TestsOfOneMorningAreNoDrift) {
  v1::ListQualityResponse list = Series({{0, 10}, {1, 10.1}, {2, 10.2}, {3, 10.3}, {4, 10.4}});
  EXPECT_FALSE(Only(list).drift.has_value());
  EXPECT_FALSE(Only(list).leaves.has_value());
}

TEST(Trend, WhatWouldPassWithoutItsDiscIsNotJudged) {
  v1::ListQualityResponse list = Series({{0, 1.5}, {30, 0}});
  for (v1::QualityResult& result : *list.mutable_result()) {
    result.mutable_measure(0)->set_name("cnr_low-20");  // with a tolerance of 2
  }
  const std::vector<RoomTrend> rooms = TrendsOf(list.result());
  EXPECT_EQ(rooms.front().level(), ConstancyLevel::kNotJudged);
  EXPECT_THAT(TrendTable(rooms, ""), HasSubstr("not judged"));
  // 4 is twice the tolerance: a disc that has lost half would not pass.
  for (v1::QualityResult& result : *list.mutable_result()) {
    result.mutable_measure(0)->set_value(result.baseline() ? 4 : 0);
  }
  EXPECT_EQ(Only(list).level, ConstancyLevel::kAction);
}

TEST(Trend, NoiseIsNoDrift) {
  const FigureTrend figure =
      Only(Series({{0, 10}, {30, 10.4}, {60, 9.7}, {90, 10.3}, {120, 9.9}, {150, 10.2}}));
  EXPECT_FALSE(figure.drift.has_value());
  EXPECT_FALSE(figure.leaves.has_value());
}

TEST(Trend, WhatTheLastTestDidNotMeasureIsToBeActedOn) {
  v1::ListQualityResponse list = Series({{0, 10}, {30, 10}});
  list.mutable_result(0)->mutable_measure(0)->set_name("water_hu");
  const FigureTrend figure = Only(list);
  EXPECT_EQ(figure.level, ConstancyLevel::kAction);
  EXPECT_FALSE(figure.latest.has_value());
  EXPECT_THAT(TrendTable(TrendsOf(list.result()), ""), HasSubstr("not measured"));
}

TEST(Trend, RoomsWithoutABaselineHaveNone) {
  v1::ListQualityResponse list = Series({{0, 10}});
  list.MergeFrom(Series({{0, 10}, {3, 10}}, "room2"));
  for (v1::QualityResult& result : *list.mutable_result()) {
    if (result.station_name() == "room2") result.set_baseline(false);
  }
  const std::vector<RoomTrend> rooms = TrendsOf(list.result());
  ASSERT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms.front().station, "room1");
  EXPECT_EQ(ToJson(rooms.front(), "").at("figures").size(), 1u);
  EXPECT_EQ(ToJson(rooms.front(), "other").at("figures").size(), 0u);
}

TEST(Trend, OlderResultsAndOtherPhantomsDoNotCount) {
  v1::ListQualityResponse list = Series({{-30, 90}, {0, 10}, {30, 10}, {60, 50}});
  for (v1::QualityResult& result : *list.mutable_result()) result.set_baseline(result.id() == "q0");
  list.mutable_result(0)->set_phantom("catphan");
  EXPECT_EQ(TrendsOf(list.result()).front().tests, 2);
  EXPECT_EQ(Only(list).level, ConstancyLevel::kWithin);
}

/// Scans of jobs, of `days` after the baseline's.
quality::Conditions Scan(const std::string& frames_job, int days, double voxel_mm = 0.7) {
  return {.voxel_mm = {voxel_mm, voxel_mm, voxel_mm},
          .frames = quality::FramesOfJob(frames_job),
          .calibration = "room1-a",
          .acquired = absl::FromUnixSeconds(kBegin + days * kDay)};
}

TEST(Trend, TheBaselinesOwnScanIsNoTestAndAScanCountsOnce) {
  v1::ListQualityResponse list = Series({{0, 10}, {30, 10}, {60, 12.5}, {61, 11}});
  // Newest first: b twice, the baseline's a refined, and a.
  list.mutable_result(0)->set_job_id("b");
  list.mutable_result(1)->set_job_id("b");
  list.mutable_result(2)->set_job_id("a-ref");
  list.mutable_result(3)->set_job_id("a");
  const RoomTrend room =
      TrendsOf(list.result(), {{"a", Scan("a", 0)}, {"a-ref", Scan("a", 0)}, {"b", Scan("b", 50)}})
          .front();
  EXPECT_EQ(room.tests, 2);
  EXPECT_EQ(room.same_scan, 2);
  EXPECT_EQ(*room.figures.front().latest, 11);
  EXPECT_EQ(room.by_record_time, 0);
  // By the scan, and not by when somebody recorded it.
  EXPECT_EQ(absl::ToUnixSeconds(room.latest_time), kBegin + 50 * kDay);
}

TEST(Trend, AScanOfBeforeTheBaselineIsNoTestSince) {
  v1::ListQualityResponse list = Series({{0, 10}, {30, 12.5}});
  list.mutable_result(0)->set_job_id("old");
  list.mutable_result(1)->set_job_id("a");
  const RoomTrend room =
      TrendsOf(list.result(), {{"a", Scan("a", 0)}, {"old", Scan("old", -3)}}).front();
  EXPECT_EQ(room.tests, 1);
  EXPECT_EQ(room.level(), ConstancyLevel::kWithin);
  // Whose job is gone counts by its record.
  const RoomTrend unknown = TrendsOf(list.result(), {{"a", Scan("a", 0)}}).front();
  EXPECT_EQ(unknown.tests, 2);
  EXPECT_EQ(unknown.by_record_time, 1);
}

/// Conditions that results tell themselves go before those of jobs, which may be gone.
TEST(Trend, ResultsTellTheirConditions) {
  v1::ListQualityResponse list = Series({{0, 10}, {30, 10.1}, {31, 10.2}});
  const auto tell = [&](int index, const char* frames, double kv, int day) {
    v1::QualityConditions& told = *list.mutable_result(index)->mutable_conditions();
    told.set_frames(frames);
    told.set_tube_voltage_kv(kv);
    told.mutable_acquired_time()->set_seconds(kBegin + day * kDay);
  };
  tell(2, "pixels 1", 90, 0);
  tell(1, "pixels 2", 120, 29);
  tell(0, "pixels 2", 120, 29);  // once more, as a file
  const RoomTrend room = TrendsOf(list.result()).front();
  EXPECT_EQ(room.tests, 2);
  EXPECT_EQ(room.same_scan, 1);
  EXPECT_EQ(room.by_record_time, 0);
  EXPECT_EQ(room.level(), ConstancyLevel::kNotComparable);
  EXPECT_THAT(room.changes, ElementsAre(HasSubstr("120 kV")));
}

TEST(Trend, OtherVoxelsMakeNoiseIncomparable) {
  v1::ListQualityResponse list = Series({{0, 10}, {30, 10.1}});
  list.mutable_result(0)->set_job_id("b");
  list.mutable_result(1)->set_job_id("a");
  const RoomTrend room =
      TrendsOf(list.result(), {{"a", Scan("a", 0)}, {"b", Scan("b", 30, 1.4)}}).front();
  EXPECT_EQ(room.level(), ConstancyLevel::kNotComparable);
  EXPECT_EQ(room.figures.front().tests, 1);
  ASSERT_EQ(room.changes.size(), 1u);
  EXPECT_THAT(room.changes.front(), HasSubstr("the voxels are 1.4 x 1.4 x 1.4 mm"));
  EXPECT_THAT(TrendTable({room}, ""), HasSubstr("not comparable"));
}

}  // namespace
}  // namespace isocenter::cli
