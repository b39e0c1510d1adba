#include "kernels/ops/calibration_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::ops {
namespace {

using ::testing::ElementsAre;
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
