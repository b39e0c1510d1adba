#include "kernels/ops/calibration_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace isocenter::ops {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CalibrationScope Room3() {
  return {.station_name = "room3",
          .detector_mode = "bin2",
          .detector = {.columns = 4, .rows = 3, .pitch_u_mm = 2, .pitch_v_mm = 2},
          .tube_voltage_kv = 90};
}

TEST(CalibrationScope, FitsWhatAgrees) {
  CalibrationScope acquisition = Room3();
  EXPECT_THAT(Misfits(Room3(), acquisition), IsEmpty());
  acquisition.tube_voltage_kv = 91;
  EXPECT_THAT(Misfits(Room3(), acquisition), IsEmpty());
  CalibrationScope any = Room3();
  any.tube_voltage_kv = 0;
  acquisition.tube_voltage_kv = 130;
  EXPECT_THAT(Misfits(any, acquisition), IsEmpty());
}

TEST(CalibrationScope, NamesEverythingThatDiffers) {
  CalibrationScope acquisition = Room3();
  acquisition.tube_voltage_kv = 91.5;
  EXPECT_THAT(Misfits(Room3(), acquisition),
              ElementsAre("is of tube voltage 90 kV, and the acquisition of 91.5 kV"));
  acquisition = {.station_name = "room9",
                 .detector_mode = "bin9",
                 .detector = {.columns = 8, .rows = 6, .pitch_u_mm = 1, .pitch_v_mm = 1}};
  const std::vector<std::string> misfits = Misfits(Room3(), acquisition);
  EXPECT_THAT(misfits,
              ElementsAre("is of station 'room3', and the acquisition of 'room9'",
                          "is of detector mode 'bin2', and the acquisition of 'bin9'",
                          "is of a detector of 4x3 pixels of 2x2 mm, and the acquisition of 8x6 "
                          "pixels of 1x1 mm",
                          "is of tube voltage 90 kV, and the acquisition of one that is not told"));
  EXPECT_EQ(MisfitText("a", {misfits[0], misfits[1]}),
            "calibration 'a' does not fit: it is of station 'room3', and the acquisition of "
            "'room9'; it is of detector mode 'bin2', and the acquisition of 'bin9'");
}

TEST(CalibrationScope, MatricesFitNoFrames) {
  CalibrationScope matrices = Room3();
  matrices.matrices = true;
  EXPECT_THAT(Misfits(matrices, Room3()), ElementsAre("has matrices, which correct no frames"));
}

Calibration WithTable() {
  Calibration set{.name = "monthly"};
  set.lag = {{0.03, 0.4}};
  set.scatter = ScatterKernels{.groups = {{.amplitude = 0.1}}, .mu_water_per_mm = 0.02};
  set.water.coefficient = {1, 0.02};
  set.mu_water_per_mm = 0.02;
  set.hounsfield.points = {{-990, -1000}, {0, 0}};
  set.hounsfield.made_with = HounsfieldParts(set);
  return set;
}

TEST(StaleTable, ATableThatFitsIsNotToldOf) {
  EXPECT_EQ(StaleTableText(WithTable()), "");
  EXPECT_EQ(StaleTableText(WithTable(), /*computed_scatter=*/true), "");
  Calibration old = WithTable();
  old.hounsfield.made_with.reset();
  old.scatter.reset();
  EXPECT_EQ(StaleTableText(old), "") << "nobody knows";
  Calibration none = WithTable();
  none.hounsfield.points.clear();
  none.scatter.reset();
  EXPECT_EQ(StaleTableText(none), "");
  // Ranges do not correct, nor do gains move HU, nor is a bone table of the first volume.
  Calibration ranges = WithTable();
  ranges.water.thickest_mm = 300;
  ranges.scatter->thickest_mm = 300;
  ranges.bone.emplace();
  ranges.defects.pixels = {1};
  EXPECT_EQ(StaleTableText(ranges), "");
}

TEST(StaleTable, EachPartThatMovesHounsfieldUnitsIsNamed) {
  const std::vector<std::pair<std::string, std::function<void(Calibration&)>>> changes = {
      {"scatter was another then", [](Calibration& c) { c.scatter->groups[0].amplitude = 0.11; }},
      {"scatter was another then", [](Calibration& c) { c.scatter->gamma_per_mm = 0.001; }},
      {"scatter was corrected then and is not now", [](Calibration& c) { c.scatter.reset(); }},
      {"water was another then", [](Calibration& c) { c.water.coefficient[1] = 0.021; }},
      {"water was another then", [](Calibration& c) { c.water.hardness = {0.5F}; }},
      {"water was another then", [](Calibration& c) { c.mu_water_per_mm = 0.0201; }},
      {"lag was another then", [](Calibration& c) { c.lag[0].release = 0.41; }},
      {"glare was not corrected then",
       [](Calibration& c) {
         c.glare = {{0.05, 20}};
       }},
      {"air_sweep was not corrected then", [](Calibration& c) {
         c.air_sweep = {.angles = {0, 0.1}, .relative = {1, 1}};
       }}};
  for (const auto& [what, change] : changes) {
    Calibration set = WithTable();
    change(set);
    EXPECT_THAT(
        StaleTableText(set),
        AllOf(HasSubstr("the HU table of calibration 'monthly' was measured with other corrections "
                        "than are applied now: "),
              HasSubstr(what), HasSubstr("isocenter calibrate hu --replace")));
  }
}

// A second pass takes scatter off that was in the volume of the table.
TEST(StaleTable, ComputedScatterIsScatter) {
  Calibration set = WithTable();
  set.scatter.reset();
  set.hounsfield.made_with = HounsfieldParts(set);
  EXPECT_EQ(StaleTableText(set), "");
  EXPECT_THAT(StaleTableText(set, /*computed_scatter=*/true),
              HasSubstr("scatter was not corrected then"));
}

TEST(FittedRanges, AreToldOrUnknown) {
  Calibration set = WithTable();
  EXPECT_EQ(FittedRangesText(set), "beam hardening: range unknown, scatter: range unknown");
  set.water.thickest_mm = 199.6;
  EXPECT_EQ(FittedRangesText(set),
            "beam hardening fitted up to 200 mm of water, scatter: range unknown");
  EXPECT_EQ(FittedRangesText({}), "");
}

TEST(Validity, EndsBeforeItsLastMoment) {
  const absl::Time from = absl::FromUnixSeconds(0), until = from + absl::Hours(24);
  const Validity validity{from, until};
  EXPECT_TRUE(validity.Has(from));
  EXPECT_FALSE(validity.Has(until));
  EXPECT_FALSE(validity.Has(from - absl::Seconds(1)));
  EXPECT_EQ(NotValidText("a", validity),
            "calibration 'a' is valid from 1970-01-01 00:00 UTC to 1970-01-02 00:00 UTC, which is "
            "not now");
}

}  // namespace
}  // namespace isocenter::ops
