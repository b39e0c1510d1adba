// That a set has made water of water: what counts as that, and what is refused of strangers.
#include "proto/wire/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "proto/wire/calibration_file.h"
#include "tests/proto/wire/legal_calibration.h"

namespace isocenter::wire {
namespace {

using ::testing::HasSubstr;
using Set = v1::CalibrationSet;

Set VerifiedSet() {
  Set set = FullSet();
  v1::Verification& seen = *set.mutable_verification();
  SetTime(absl::FromCivil(absl::CivilDay(2026, 2, 1), absl::UTCTimeZone()), *seen.mutable_time());
  seen.set_scan("water2");
  seen.set_diameter_mm(200);
  seen.set_tolerance_hu(10);
  seen.set_water_hu(1.5);
  seen.set_cupping_hu(-2);
  seen.set_border_hu(3);
  seen.set_air_hu(-990);
  seen.set_noise_hu(12);
  SetVerifiedParts(set);
  return set;
}

std::string Error(const std::function<void(Set&)>& change) {
  Set set = VerifiedSet();
  change(set);
  const absl::Status refused = CalibrationFromProto(set).status();
  EXPECT_TRUE(refused.ok() || absl::IsInvalidArgument(refused)) << refused;
  return std::string(refused.message());
}

TEST(Verification, NamesAllPartsOfAFirstVolumeAndIsOfTheLabel) {
  const Set set = VerifiedSet();
  EXPECT_TRUE(IsVerified(set));
  EXPECT_EQ(Error([](Set&) {}), "");
  EXPECT_EQ(static_cast<size_t>(set.verification().part_size()),
            CalibrationParts(set).size() - 2);  // bone, scatter_model
  EXPECT_EQ(CalibrationLabel(set).verification().SerializeAsString(),
            set.verification().SerializeAsString());
  EXPECT_TRUE(IsVerified(*ParseCalibrationFile(CalibrationFile(set))));
  EXPECT_FALSE(IsVerified(FullSet()));
  EXPECT_TRUE(CheckVerifiedParts(FullSet()).ok());
}

// One bit of any part, a part more, a part less.
TEST(Verification, ASetOfOtherPartsIsNotVerified) {
  constexpr char kAnew[] = "`isocenter calibrate verify --into` verifies it anew";
  const auto another = [&](const char* part, const std::function<void(Set&)>& change) {
    Set set = VerifiedSet();
    change(set);
    EXPECT_FALSE(IsVerified(set)) << part;
    const std::string error = Error(change);
    EXPECT_THAT(error, HasSubstr(absl::StrCat("verification.part is of another ", part))) << part;
    EXPECT_THAT(error, HasSubstr(kAnew));
  };
  another("water", [](Set& s) {
    const double was = s.water().coefficient(1);
    s.mutable_water()->set_coefficient(1, std::nextafter(was, 1));
  });
  another("scatter", [](Set& s) { s.mutable_scatter()->mutable_group(0)->set_amplitude(0.11); });
  another("hounsfield",
          [](Set& s) { s.mutable_hounsfield()->mutable_point(2)->set_true_hu(1001); });
  another("lag", [](Set& s) { s.mutable_lag()->mutable_term(0)->set_release(0.4); });
  another("response", [](Set& s) { s.mutable_response()->mutable_air_counts()->at(0) ^= 1; });
  another("defects", [](Set& s) { s.mutable_defects()->set_pixel(0, 6); });
  EXPECT_THAT(Error([](Set& s) { s.clear_scatter(); }),
              HasSubstr("verification.part is of 'scatter', which the set has not"));
  EXPECT_THAT(Error([](Set& s) {
                Set without = s;
                without.clear_glare();
                SetVerifiedParts(without);
                *s.mutable_verification() = without.verification();
              }),
              HasSubstr("verification.part is without glare"));
}

TEST(Verification, PartsOfSecondPassesMayChange) {
  Set set = VerifiedSet();
  set.mutable_scatter_model()->set_scale(0.3);
  set.clear_bone();
  set.set_name("room1-b");
  set.clear_quality();
  EXPECT_TRUE(IsVerified(set));
}

TEST(Verification, FiguresThatAreNotLegalAreRefused) {
  const auto error = [](const std::function<void(v1::Verification&)>& change) {
    return Error([&](Set& set) { change(*set.mutable_verification()); });
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error([](auto& v) { v.set_water_hu(kNaN); }),
              HasSubstr("verification.water_hu is nan; legal is -10 to 10"));
  EXPECT_THAT(error([](auto& v) { v.set_water_hu(-11); }), HasSubstr("water_hu is -11; legal is"));
  EXPECT_THAT(error([](auto& v) { v.set_cupping_hu(10.5); }), HasSubstr("cupping_hu is 10.5"));
  EXPECT_THAT(error([](auto& v) { v.set_border_hu(-198); }), HasSubstr("border_hu is -198"));
  EXPECT_THAT(error([](auto& v) { v.set_air_hu(-979); }),
              HasSubstr("air_hu is -979; legal is -1020 to -980"));
  EXPECT_THAT(error([](auto& v) { v.set_noise_hu(-1); }), HasSubstr("noise_hu is -1; legal is 0"));
  EXPECT_THAT(error([](auto& v) { v.set_diameter_mm(0); }),
              HasSubstr("diameter_mm is 0; legal is 30 to 500"));
  for (const double tolerance : {0.0, 31.0, kNaN, -5.0}) {
    EXPECT_THAT(error([&](auto& v) { v.set_tolerance_hu(tolerance); }),
                HasSubstr("tolerance_hu is "))
        << tolerance;
  }
  EXPECT_THAT(error([](auto& v) { v.set_scan("a\nb"); }), HasSubstr("verification.scan is "));
  EXPECT_THAT(error([](auto& v) { v.set_scan(std::string(129, 'x')); }), HasSubstr("scan is "));
  EXPECT_THAT(error([](auto& v) { v.clear_part(); }),
              HasSubstr("verification.part is a list of 0; legal is 1 to 16"));
  EXPECT_THAT(error([](auto& v) {
                for (int i = 0; i < 1000; ++i) v.add_part()->set_name("water");
              }),
              HasSubstr("legal is 1 to 16"));
  EXPECT_THAT(error([](auto& v) { v.clear_time(); }), HasSubstr("verification.time is 1970-"));
  EXPECT_THAT(error([](auto& v) { v.mutable_time()->set_nanos(-1); }),
              HasSubstr("verification.time is "));
  // After the set has ended: nobody can have measured that in its time.
  EXPECT_THAT(error([](auto& v) { v.mutable_time()->set_seconds(1790000000); }),
              HasSubstr("legal is from valid_from until valid_until"));
}

TEST(Verification, MatricesHaveNone) {
  Set set = CalibrationLabel(VerifiedSet());
  SetGeometry(
      *MakeCircularOrbit(
          {.views = 7, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3.4},
          kCalibratedDetector),
      set);
  EXPECT_THAT(std::string(CalibrationFromProto(set).status().message()),
              HasSubstr("verification.part is of "));
}

}  // namespace
}  // namespace isocenter::wire
