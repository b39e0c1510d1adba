// Whether the whole of a set makes water of water, and which planted numbers are seen by that.
#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/formats/file.h"
#include "proto/wire/verification.h"
#include "tests/client/calibrate/calibrate_fixture.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Verify : public Calibrate {
 protected:
  /// A set of detector, lag and water, and another scan of water: beside the axis, of another size.
  void SetUp() override {
    Calibrate::SetUp();
    ASSERT_EQ(Detector(50, 61).exit_code, 0);
    Simulate("step", 160, 61, {"--sweep", "step"});
    Simulate("water", 60, 61, {"--phantom", "cylinder", "--scale-mm", "80"});
    WriteBytes(directory_ / "aside.csv", "0, 20,0,0, 0,0,0\n1, 20,0,0, 0,0,0\n");
    Simulate("second", 120, 61,
             {"--phantom", "cylinder", "--scale-mm", "70", "--motion", Path("aside.csv")});
    ASSERT_EQ(Add({"lag", "--step", Path("step")}).exit_code, 0);
    ASSERT_EQ(Add({"beam-hardening", "--scan", Path("water"), "--diameter-mm", "160"}).exit_code,
              0);
    measured_ = Set();
  }
  Outcome Add(std::vector<std::string> part) {
    part.insert(part.begin(), "calibrate");
    part.insert(part.end(), {"--into", Path("set")});
    return RunCommand(part);
  }
  Outcome Run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"verify", "--scan", Path("second"), "--diameter-mm", "140"};
    command.insert(command.end(), more.begin(), more.end());
    return Add(command);
  }
  /// The same with a number that is not right.
  Outcome Planted(const std::function<void(v1::CalibrationSet&)>& change) {
    v1::CalibrationSet set = measured_;
    change(set);
    EXPECT_TRUE(formats::WriteText(Path("set"), wire::CalibrationFile(set)).ok());
    return Run();
  }

  v1::CalibrationSet measured_;
};

TEST_F(Verify, AGoodSetIsMarkedAndAChangedOneIsNot) {
  const Outcome good = Run({"--picture", Path("verify.png"), "--json", Path("v.json")});
  ASSERT_EQ(good.exit_code, 0) << good.err << good.out;
  std::printf("%s", good.out.c_str());
  EXPECT_THAT(good.out, HasSubstr("the cylinder's axis is at x "));
  const v1::CalibrationSet set = Set();
  EXPECT_TRUE(wire::IsVerified(set));
  const v1::Verification& seen = set.verification();
  EXPECT_EQ(seen.scan(), "second");
  EXPECT_EQ(seen.diameter_mm(), 140);
  EXPECT_EQ(seen.tolerance_hu(), 10);
  EXPECT_NEAR(seen.water_hu(), 0, 5);
  EXPECT_NEAR(seen.cupping_hu(), 0, 5);
  EXPECT_GT(seen.noise_hu(), 1);
  EXPECT_EQ(ReadBytes(directory_ / "verify.png"), set.picture_png());
  const auto json = nlohmann::json::parse(ReadBytes(directory_ / "v.json"));
  EXPECT_EQ(json["part"], "verify");
  EXPECT_EQ(json["figures"][0]["name"], "water");
  EXPECT_EQ(json["figures"][0]["legal"], "within ±10");

  // The same lag again changes nothing; another does.
  const Outcome same = Add({"lag", "--step", Path("step")});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.err, Not(HasSubstr("not verified any more")));
  EXPECT_TRUE(wire::IsVerified(Set()));
  Simulate("other", 150, 61, {"--sweep", "step"});
  const Outcome other = Add({"lag", "--step", Path("other")});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("the set was verified with other parts than it has now, and is "
                                   "not verified any more; `isocenter calibrate verify`"));
  const v1::CalibrationSet ended = Set();
  EXPECT_FALSE(ended.has_verification());
  for (const v1::QualityFigure& figure : ended.quality()) {
    EXPECT_NE(figure.name().rfind("verify: ", 0), 0u) << figure.name();
  }
  // What was changed by other means is nobody's set, until it is verified anew.
  v1::CalibrationSet by_hand = set;
  by_hand.mutable_water()->set_coefficient(1, by_hand.water().coefficient(1) * 1.001);
  ASSERT_TRUE(formats::WriteText(Path("set"), wire::CalibrationFile(by_hand)).ok());
  const Outcome refused =
      RunCommand({"reconstruct", Path("second"), "--calibration", Path("set"), "--grid", "32x32x4",
                  "--voxel-mm", "6", "--out", Path("v.mha")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("verification.part is of another water; legal is the parts"));
  EXPECT_EQ(Run().exit_code, 0);
  EXPECT_TRUE(wire::IsVerified(Set()));
}

TEST_F(Verify, TheScanThatTheSetWasFittedToSaysLittle) {
  const Outcome same = Add({"verify", "--scan", Path("water"), "--diameter-mm", "160"});
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.err, AllOf(HasSubstr("as wide as that which the water polynomial was fitted to "
                                        "(159 mm of water)"),
                              HasSubstr("expected is another diameter")));
  EXPECT_THAT(Run().err, Not(HasSubstr("as wide as")));
}

TEST_F(Verify, PlantedNumbersAreSeen) {
  const auto seen = [&](const char* what, const char* figure,
                        const std::function<void(v1::CalibrationSet&)>& change) {
    const Outcome outcome = Planted(change);
    EXPECT_EQ(outcome.exit_code, 1) << what << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(figure), HasSubstr("HU; legal is "))) << what;
    EXPECT_FALSE(Set().has_verification());
    std::printf("%s: %s", what, outcome.err.c_str());
  };
  EXPECT_EQ(Planted([](auto&) {}).exit_code, 0);
  seen("water's attenuation 5 % more", "water is -", [](auto& set) {
    set.mutable_water()->set_mu_water_per_mm(1.05 * set.water().mu_water_per_mm());
  });
  seen("first coefficient 5 % more", "water is ", [](auto& set) {
    set.mutable_water()->set_coefficient(0, 1.05 * set.water().coefficient(0));
  });
  seen("no water polynomial", " is ", [](auto& set) { set.clear_water(); });
  seen("an HU table 10 % too steep", "air is ", [](auto& set) {
    for (const double hu : {-1000.0, 0.0, 1000.0}) {
      auto& point = *set.mutable_hounsfield()->add_point();
      point.set_measured_hu(hu);
      point.set_true_hu(1.1 * hu);
    }
  });
  seen("an HU table 20 HU off", "water is ", [](auto& set) {
    for (const double hu : {-1000.0, 0.0, 1000.0}) {
      auto& point = *set.mutable_hounsfield()->add_point();
      point.set_measured_hu(hu);
      point.set_true_hu(hu + 20);
    }
  });
  seen("scatter that is not there", " is ", [](auto& set) {
    set.mutable_scatter()->set_mu_water_per_mm(set.water().mu_water_per_mm());
    auto& group = *set.mutable_scatter()->add_group();
    group.set_amplitude(0.05);
    group.set_alpha(0.5);
    group.set_beta(1);
    group.set_narrow_sigma_mm(40);
    group.set_wide_sigma_mm(120);
    group.set_wide_share(0.5);
  });
}

TEST_F(Verify, AnotherScanIsRefused) {
  EXPECT_THAT(Add({"verify", "--scan", Path("second"), "--diameter-mm", "180"}).err,
              HasSubstr("is it a scan of this cylinder, whole in the frames?"));
  EXPECT_THAT(Run({"--tolerance-hu", "31"}).err, HasSubstr("--tolerance-hu"));
  Relabel("second", "w130", "room3", "bin2", 130);
  EXPECT_THAT(Add({"verify", "--scan", Path("w130"), "--diameter-mm", "140"}).err,
              HasSubstr("tube voltage 90 kV, and the acquisition of 130 kV"));
  v1::CalibrationSet old = measured_;
  wire::SetTime(absl::Now() - absl::Hours(3), *old.mutable_valid_from());
  wire::SetTime(absl::Now() - absl::Hours(1), *old.mutable_valid_until());
  ASSERT_TRUE(formats::WriteText(Path("set"), wire::CalibrationFile(old)).ok());
  EXPECT_THAT(Run().err, AllOf(HasSubstr("which is not now"), HasSubstr("legal is a valid set")));
}

}  // namespace
}  // namespace isocenter::client_test
