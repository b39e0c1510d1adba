// Sets of calibrations: there and back, and what is refused of a message.
#include "proto/wire/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "tests/proto/wire/legal_calibration.h"

namespace isocenter::wire {
namespace {

using ::testing::HasSubstr;
using Set = v1::CalibrationSet;

TEST(CalibrationMessage, ThereAndBackIsTheSame) {
  const Set set = FullSet();
  const auto calibration = CalibrationFromProto(set);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->name, "room1_2026-03");
  EXPECT_EQ(calibration->detector, kCalibratedDetector);
  const ops::Calibration expected = FullCalibration();
  EXPECT_EQ(calibration->response->offset_counts, expected.response->offset_counts);
  EXPECT_EQ(calibration->response->air_counts, expected.response->air_counts);
  // What is not of the corrections is of the label.
  Set again = ToProto(*calibration);
  again.MergeFrom(CalibrationLabel(set));
  again.set_picture_png(set.picture_png());
  EXPECT_EQ(again.SerializeAsString(), set.SerializeAsString());
}

Trajectory Arm(int frames) {
  return *MakeCircularOrbit(
      {.views = frames, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3.4},
      kCalibratedDetector);
}

TEST(CalibrationMessage, MatricesThereAndBackAreTheSame) {
  Set set = CalibrationLabel(FullSet());
  SetGeometry(Arm(7), set);
  EXPECT_EQ(set.geometry_frames(), 7);
  ASSERT_TRUE(CalibrationFromProto(set).ok()) << CalibrationFromProto(set).status();
  const auto back = GeometryFromProto(set);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 7);
  for (int k = 0; k < 7; ++k) {
    for (int i = 0; i < 12; ++i) EXPECT_NEAR((*back)[k].m[i], Arm(7)[k].m[i], 1e-12);
  }
  EXPECT_EQ(CalibrationLabel(set).geometry_frames(), 7);
  EXPECT_FALSE(CalibrationLabel(set).has_geometry());
}

TEST(CalibrationMessage, MatricesThatAreNotLegalAreRefused) {
  const auto error = [](auto change) {
    Set set = CalibrationLabel(FullSet());
    SetGeometry(Arm(7), set);
    change(set);
    return std::string(CalibrationFromProto(set).status().message());
  };
  EXPECT_EQ(error([](Set&) {}), "");
  EXPECT_THAT(error([](Set& set) { set.mutable_geometry()->add_matrix(1); }),
              HasSubstr("geometry.matrix is a list of 85"));
  EXPECT_THAT(error([](Set& set) { set.mutable_geometry()->clear_matrix(); }),
              HasSubstr("12 values for each of 2 to 10000 frames"));
  EXPECT_THAT(error([](Set& set) { set.clear_geometry(); }), HasSubstr("a list of 0"));
  EXPECT_THAT(error([](Set& set) { set.set_geometry_frames(8); }),
              HasSubstr("geometry_frames is 8; legal is the number of matrices, 7"));
  EXPECT_THAT(error([](Set& set) { set.set_geometry_frames(uint64_t{1} << 40); }),
              HasSubstr("legal is 0 to 10000"));
  EXPECT_THAT(error([](Set& set) { set.mutable_geometry()->set_matrix(13, NAN); }),
              HasSubstr("geometry, frame 1: "));
  EXPECT_THAT(error([](Set& set) { set.mutable_air()->set_columns(16); }),
              HasSubstr("a set of its own"));
}

TEST(CalibrationMessage, WhatWasNotMeasuredStaysUnset) {
  const Set none = ToProto(ops::Calibration{.name = "none", .detector = kCalibratedDetector});
  EXPECT_FALSE(none.has_response() || none.has_defects() || none.has_lag() || none.has_glare() ||
               none.has_air() || none.has_scatter() || none.has_water() || none.has_hounsfield() ||
               none.has_bone() || none.has_air_sweep() || none.has_scatter_model());
  Set set = CalibrationLabel(FullSet());
  EXPECT_FALSE(set.has_response() || !set.picture_png().empty());
  const auto calibration = CalibrationFromProto(set);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_FALSE(calibration->response.has_value() || calibration->scatter.has_value());
  EXPECT_TRUE(calibration->lag.empty() && calibration->hounsfield.points.empty());
}

// Sets of before: no range, and nothing about the table.
TEST(CalibrationMessage, ASetThatKnowsNoRangesIsLegal) {
  Set set = FullSet();
  set.mutable_water()->clear_thickest_mm();
  set.mutable_scatter()->clear_thickest_mm();
  set.mutable_hounsfield()->clear_made_with();
  const auto calibration = CalibrationFromProto(set);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->water.thickest_mm, 0);
  EXPECT_EQ(calibration->scatter->thickest_mm, 0);
  EXPECT_FALSE(calibration->hounsfield.made_with.has_value());
  // A table of a volume that nothing had corrected is another thing.
  set.mutable_hounsfield()->mutable_made_with();
  const auto uncorrected = CalibrationFromProto(set);
  ASSERT_TRUE(uncorrected.ok() && uncorrected->hounsfield.made_with.has_value());
  EXPECT_TRUE(uncorrected->hounsfield.made_with->empty());
  EXPECT_TRUE(ToProto(*uncorrected).hounsfield().has_made_with());
}

TEST(CalibrationMessage, TimesKeepTheirNanoseconds) {
  for (const absl::Time time :
       {absl::FromUnixNanos(-1), absl::FromUnixNanos(1'500'000'007), absl::UnixEpoch()}) {
    google::protobuf::Timestamp proto;
    SetTime(time, proto);
    EXPECT_GE(proto.nanos(), 0);
    EXPECT_EQ(TimeFromProto(proto), time);
  }
}

struct Illegal {
  const char* name;
  std::function<void(Set&)> spoil;
  std::vector<std::string> complaint;
};

void PrintTo(const Illegal& illegal, std::ostream* out) { *out << illegal.name; }

class IllegalCalibration : public ::testing::TestWithParam<Illegal> {};

TEST_P(IllegalCalibration, IsRefusedWithFieldValueAndLegal) {
  Set set = FullSet();
  GetParam().spoil(set);
  const auto calibration = CalibrationFromProto(set);
  EXPECT_EQ(calibration.status().code(), absl::StatusCode::kInvalidArgument);
  for (const std::string& part : GetParam().complaint) {
    EXPECT_THAT(std::string(calibration.status().message()), HasSubstr(part));
  }
}

void SetPixel(std::string* map, size_t pixel, float value) {
  std::memcpy(map->data() + 4 * pixel, &value, sizeof value);
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Illegal kIllegal[] = {
    {"NoName", [](Set& s) { s.clear_name(); }, {"name is ''", "1 to 64"}},
    {"PathAsName", [](Set& s) { s.set_name("../../etc/passwd"); }, {"name is '../../etc/passwd'"}},
    {"LongName", [](Set& s) { s.set_name(std::string(65, 'a')); }, {"name is 'aaa", "1 to 64"}},
    {"NoStation", [](Set& s) { s.clear_station_name(); }, {"station_name is ''", "1 to 64"}},
    {"Mode", [](Set& s) { s.set_detector_mode("2x2\n"); }, {"detector_mode is '2x2\\n'"}},
    {"Columns", [](Set& s) { s.mutable_detector()->set_columns(8193); }, {"8193", "1 to 8192"}},
    {"Rows", [](Set& s) { s.mutable_detector()->set_rows(0); }, {"detector.rows is 0"}},
    {"Pitch",
     [](Set& s) { s.mutable_detector()->set_pitch_v_mm(0); },
     {"detector.pitch_v_mm is 0"}},
    {"Kilovolts", [](Set& s) { s.set_tube_voltage_kv(kNaN); }, {"tube_voltage_kv is nan", "300"}},
    {"NoBeginning", [](Set& s) { s.clear_valid_from(); }, {"valid_from is unset"}},
    {"NoEnd", [](Set& s) { s.clear_valid_until(); }, {"valid_until is unset"}},
    {"EndsBefore",
     [](Set& s) { *s.mutable_valid_until() = s.valid_from(); },
     {"valid_until is 2026-01-01T00:00:00+00:00", "after valid_from"}},
    {"TooLong",
     [](Set& s) { s.mutable_valid_until()->set_seconds(2145916800); },
     {"valid_until is", "at most 10 years"}},
    {"Nanoseconds",
     [](Set& s) { s.mutable_created()->set_nanos(-1); },
     {"created is", "-1 ns", "the years 1 to 9999"}},
    {"Never",
     [](Set& s) { s.mutable_valid_until()->set_seconds(std::numeric_limits<int64_t>::max()); },
     {"valid_until is 9223372036854775807 s"}},
    {"Description",
     [](Set& s) { s.set_description(std::string(257, 'x')); },
     {"description is", "0 to 256 characters"}},
    {"ControlCharacters", [](Set& s) { s.set_description("a\x1b[2J"); }, {"'a\\x1b[2J'"}},
    {"QualityValue",
     [](Set& s) { s.mutable_quality(0)->set_value(kInfinity); },
     {"quality[0].value is inf"}},
    {"QualityUnit",
     [](Set& s) { s.mutable_quality(0)->set_unit(std::string(17, 'm')); },
     {"quality[0].unit", "0 to 16"}},
    {"QualityCount",
     [](Set& s) {
       for (int i = 0; i < 64; ++i) *s.add_quality() = s.quality(0);
     },
     {"quality is a list of 65", "at most 64"}},
    {"NoPicture", [](Set& s) { s.set_picture_png("GIF89a"); }, {"picture_png", "'GIF89a'", "PNG"}},
    {"LongPicture",
     [](Set& s) { s.mutable_picture_png()->resize((4 << 20) + 1); },
     {"picture_png is 4194305 bytes", "at most 4194304"}},
    {"ShortMap",
     [](Set& s) { s.mutable_response()->mutable_offset_counts()->pop_back(); },
     {"response.offset_counts is 3839 bytes", "3840, which are 4 x 40 x 24"}},
    {"OtherDetector",
     [](Set& s) { s.mutable_detector()->set_columns(41); },
     {"response.offset_counts is 3840 bytes", "3936"}},
    {"NoAir",
     [](Set& s) { s.mutable_response()->clear_air_counts(); },
     {"response.air_counts is 0 bytes"}},
    {"FullScaleBeyond16Bits",
     [](Set& s) { s.mutable_response()->set_full_scale_counts(65536); },
     {"full_scale_counts is 65536", "1 to 65535"}},
    {"AirSweepWithoutAngles",
     [](Set& s) {
       s.mutable_air_sweep()->clear_angle_deg();
       s.mutable_air_sweep()->clear_relative();
     },
     {"air_sweep.angle_deg is a list of 0", "2 to 720"}},
    {"AirSweepOfAnotherSize",
     [](Set& s) { s.mutable_air_sweep()->mutable_relative()->pop_back(); },
     {"air_sweep.relative is 599 bytes", "600, which are 4 for each block of each angle"}},
    {"AirSweepWithTooManyAngles",
     [](Set& s) {
       for (int i = 0; i < 1000000; ++i) s.mutable_air_sweep()->add_angle_deg(i);
     },
     {"air_sweep.angle_deg is a list of 1000025", "2 to 720"}},
    {"AirSweepThatTurnsBack",
     [](Set& s) { s.mutable_air_sweep()->set_angle_deg(2, -165.5); },
     {"the step to the next air_sweep.angle_deg is -0.5", "more than 0, at most 15"}},
    {"AirSweepWithAGap",
     [](Set& s) { s.mutable_air_sweep()->set_angle_deg(2, -149); },
     {"the step to the next air_sweep.angle_deg is 16", "more than 0, at most 15"}},
    {"AirSweepOfNoNumber",
     [](Set& s) { SetPixel(s.mutable_air_sweep()->mutable_relative(), 3, kNaN); },
     {"air_sweep.relative is nan", "0.2 to 5"}},
    {"AirSweepOfNoLight",
     [](Set& s) { SetPixel(s.mutable_air_sweep()->mutable_relative(), 3, 0); },
     {"air_sweep.relative is 0", "0.2 to 5"}},
    {"HardnessOfOtherColumns",
     [](Set& s) { s.mutable_water()->add_hardness(1); },
     {"water.hardness is a list of 41", "one for each of the detector's 40 columns, or none"}},
    {"HardnessBelowZero",
     [](Set& s) { s.mutable_water()->set_hardness(7, -0.5F); },
     {"water.hardness is -0.5", "0 to 4"}},
    {"HardnessOfNoNumber",
     [](Set& s) { s.mutable_water()->set_hardness(7, kNaN); },
     {"water.hardness is nan", "0 to 4"}},
    {"WaterFittedToLessThanNothing",
     [](Set& s) { s.mutable_water()->set_thickest_mm(-1); },
     {"water.thickest_mm is -1", "0 to 2000"}},
    {"WaterFittedToNoNumber",
     [](Set& s) { s.mutable_water()->set_thickest_mm(kNaN); },
     {"water.thickest_mm is nan", "0 to 2000"}},
    {"ScatterFittedToTooMuch",
     [](Set& s) { s.mutable_scatter()->set_thickest_mm(2001); },
     {"scatter.thickest_mm is 2001", "0 to 2000"}},
    {"TableMadeWithTooMuch",
     [](Set& s) {
       for (int i = 0; i < 15; ++i) {
         s.mutable_hounsfield()->mutable_made_with()->add_part()->set_name("lag");
       }
     },
     {"parts of hounsfield.made_with", "17", "0 to 16"}},
    {"TableMadeWithNothingNamed",
     [](Set& s) { s.mutable_hounsfield()->mutable_made_with()->add_part(); },
     {"characters of hounsfield.made_with.part", "1 to 64"}},
    {"TableMadeWithWhatIsNoName",
     [](Set& s) { s.mutable_hounsfield()->mutable_made_with()->add_part()->set_name("a\nb"); },
     {"hounsfield.made_with.part is 'a\\nb'", "[a-z_]"}},
    {"NotANumber",
     [](Set& s) { SetPixel(s.mutable_response()->mutable_offset_counts(), 41, kNaN); },
     {"offset_counts of column 1, row 1 is nan"}},
    {"ZeroGain",
     [](Set& s) { SetPixel(s.mutable_response()->mutable_air_counts(), 3, 0); },
     {"air_counts of column 3, row 0 is 0", "1 to 65535"}},
    {"DefectOutside", [](Set& s) { s.mutable_defects()->add_pixel(960); }, {"960", "0 to 959"}},
    {"DefectBeyondInt",
     [](Set& s) { s.mutable_defects()->add_pixel(0xFFFFFFFF); },
     {"defects.pixel is 4294967295", "0 to 959"}},
    {"DefectTwice",
     [](Set& s) { s.mutable_defects()->add_pixel(s.defects().pixel(3)); },
     {"defective pixel is 923", "ascending"}},
    {"MillionDefects",
     [](Set& s) { s.mutable_defects()->mutable_pixel()->Resize(1'000'000, 7); },
     {"defects.pixel is a list of 1000000", "at most 96"}},
    {"LagShare", [](Set& s) { s.mutable_lag()->mutable_term(0)->set_share(0.6); }, {"lag.share"}},
    {"GlareSigma",
     [](Set& s) { s.mutable_glare()->mutable_term(0)->set_sigma_mm(kNaN); },
     {"glare.sigma_mm is nan"}},
    {"AirStrips",
     [](Set& s) { s.mutable_air()->set_columns(0x80000010); },
     {"air.columns is 2147483664", "half of the detector's 40"}},
    {"EmptyAir", [](Set& s) { s.mutable_air()->clear_columns(); }, {"air.columns is 0", "16 to"}},
    {"ScatterGroups",
     [](Set& s) { s.mutable_scatter()->clear_group(); },
     {"scatter groups is 0", "1 to 8"}},
    {"EmptyWater",
     [](Set& s) { s.mutable_water()->clear_coefficient(); },
     {"water.coefficient is a list of 0", "1 to 6"}},
    {"WaterFalls",
     [](Set& s) { s.mutable_water()->set_coefficient(1, -1); },
     {"water polynomial", "ascend"}},
    {"TableOfAnotherUnit",
     [](Set& s) {
       s.mutable_hounsfield()->clear_point();
       for (const double measured : {-1000.0, 0.0, 900.0}) {
         auto& point = *s.mutable_hounsfield()->add_point();
         point.set_measured_hu(measured);
         point.set_true_hu(measured + 1000);
       }
     },
     {"the HU table makes 0 of -1000 HU (air)", "at most 500 HU", "(air -1000, water 0)"}},
    {"EmptyTable",
     [](Set& s) { s.mutable_hounsfield()->clear_point(); },
     {"hounsfield.point is a list of 0", "2 to 32"}},
    {"TableFalls",
     [](Set& s) { s.mutable_hounsfield()->mutable_point(2)->set_true_hu(-5); },
     {"HU table"}},
    {"ScatterScale",
     [](Set& s) { s.mutable_scatter_model()->set_scale(0); },
     {"scatter_model.scale is 0", "0.01 to 10"}},
    {"BonePoints",
     [](Set& s) { s.mutable_bone()->set_bones(0x80000002); },
     {"bone.bones is 2147483650", "2 to 64"}},
    {"EmptyBone",
     [](Set& s) { s.mutable_bone()->clear_added(); },
     {"values of the bone table is 0", "6 to 6"}},
    {"AddedWithoutBone",
     [](Set& s) { s.mutable_bone()->set_added(1, 0.1); },
     {"bone.added is 0.1", "0 to 0"}},
    {"AddedNaN", [](Set& s) { s.mutable_bone()->set_added(4, kNaN); }, {"bone.added is nan"}},
    {"BoneFalls",
     [](Set& s) { s.mutable_bone()->set_added(4, -4); },
     {"bone.added falls from 0.5 to -4", "ascend"}},
    {"BoneHu",
     [](Set& s) { s.mutable_bone()->set_full_hu(150); },
     {"bone.full_hu is 150", "200 to 5000"}},
};

INSTANTIATE_TEST_SUITE_P(Each, IllegalCalibration, ::testing::ValuesIn(kIllegal),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace isocenter::wire
