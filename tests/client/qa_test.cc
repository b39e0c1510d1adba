// isocenter qa, by the binary: scans whose quality is known by construction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "client/formats/meta_image.h"
#include "kernels/base/units.h"
#include "kernels/quality/conditions.h"
#include "tests/client/command.h"
#include "tests/kernels/quality/made_phantom.h"

namespace isocenter::client_test {
namespace {

using quality::MadeScan;
using quality::ScanRecipe;
using testing::HasSubstr;
using testing::Not;

ScanRecipe Recipe(double noise, uint64_t seed) {
  return {.voxel_mm = 1.4,
          .nx = 124,
          .nz = 106,
          .blur_mm = 1,
          .noise = noise,
          .noise_blur_mm = 1.2,
          .seed = seed};
}

const MadeScan& Clean() {
  static const MadeScan scan = quality::MakeScan("quality", 80, Recipe(0, 0));
  return scan;
}

class QaTest : public ::testing::Test {
 protected:
  /// The name of a file with the phantom under noise.
  std::string Scan(const std::string& name, double noise, uint64_t seed) {
    MadeScan scan = Clean();
    quality::AddNoise(Recipe(noise, seed), scan);
    return Write(name, std::move(scan));
  }
  std::string Write(const std::string& name, MadeScan scan) {
    const std::string path = (directory_ / name).string();
    EXPECT_TRUE(formats::WriteMetaImage(path, {scan.grid, std::move(scan.voxels)}).ok());
    return path;
  }
  std::string Path(const std::string& name) const { return (directory_ / name).string(); }
  TemporaryDirectory directory_;
};

double Value(const nlohmann::json& json, const std::string& name) {
  for (const auto& measure : json["measures"]) {
    if (measure["name"] == name) return measure["value"];
  }
  return std::nan("");
}

TEST_F(QaTest, MeasuresAndReports) {
  const std::string scan = Scan("<scan>.mha", 60, 1);
  const Outcome outcome =
      RunCommand({"qa", scan, "--json", Path("qa.json"), "--report", Path("qa.html")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("mtf50_edge_per_mm"));
  const auto json = nlohmann::json::parse(ReadBytes(Path("qa.json")));
  // White noise of 60 HU under a Gaussian of 1.2 mm: sampled, some 20 HU.
  const double sigma = 1.2 / 1.4;
  EXPECT_NEAR(Value(json, "noise_hu"), 60 / (2 * sigma * std::sqrt(kPi)), 1);
  EXPECT_NEAR(Value(json, "insert_delrin_hu"), 340, 8);
  // Where calibrate hu is to look for it.
  ASSERT_EQ(json["inserts"][3]["name"], "delrin");
  EXPECT_NEAR(json["inserts"][3]["center_mm"][0], -36, 0.5);
  EXPECT_NEAR(json["inserts"][3]["center_mm"][1], -26, 0.5);
  EXPECT_EQ(json["inserts"][3]["radius_mm"], 8);
  EXPECT_EQ(json["detectability"].size(), 4u);
  EXPECT_NEAR(json["nps"]["integral_hu2"].get<double>(), json["nps"]["variance_hu2"].get<double>(),
              1e-6 * json["nps"]["variance_hu2"].get<double>());
  const std::string html = ReadBytes(Path("qa.html"));
  EXPECT_THAT(html, HasSubstr("Modulation transfer"));
  EXPECT_THAT(html, HasSubstr("data:image/png;base64,"));
  EXPECT_THAT(html, HasSubstr("<th scope=row>MTF 50 % sphere, 1/mm<br><code>mtf50_sphere_per_mm"));
  for (const char* heading : {"figure", "value", "disc"}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat("<th scope=col>", heading)));
  }
  // Of two curves in the slices, which counts, and why not the other.
  EXPECT_THAT(html, HasSubstr(">sphere, in slices, followed</text>"));
  EXPECT_THAT(html, HasSubstr(">edge of fat, not followed</text>"));
  EXPECT_THAT(html, HasSubstr("<th scope=row>edge of fat<td>by how much that of the least"));
  // Names of files are text; nothing is loaded from elsewhere.
  EXPECT_THAT(html, HasSubstr("&lt;scan&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<scan>")));
  for (const char* loads : {"src=\"http", "href=\"http", "<script", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(loads)));
  }
}

TEST_F(QaTest, ConstancyPassesAndFails) {
  ASSERT_EQ(
      RunCommand({"qa", Scan("accepted.mha", 40, 1), "--json", Path("accepted.json")}).exit_code,
      0);
  const Outcome same =
      RunCommand({"qa", Scan("today.mha", 40, 2), "--baseline", Path("accepted.json")});
  EXPECT_EQ(same.exit_code, 0) << same.err << same.out;
  EXPECT_THAT(same.out, HasSubstr("passed"));
  EXPECT_THAT(same.err, Not(HasSubstr("the voxels are")));
  EXPECT_THAT(same.err, Not(HasSubstr("checksum")));
  auto other = nlohmann::json::parse(ReadBytes(Path("accepted.json")));
  other["voxel_mm"] = {0.25, 0.25, 0.25};
  std::ofstream(Path("other.json")) << other;
  const Outcome edited = RunCommand({"qa", Path("today.mha"), "--baseline", Path("other.json")});
  EXPECT_EQ(edited.exit_code, 1);
  EXPECT_THAT(edited.err, HasSubstr("other.json was edited after it was written"));
  // As baselines from before they had a checksum.
  other.erase("checksum");
  std::ofstream(Path("other.json")) << other;
  const Outcome coarser = RunCommand({"qa", Path("today.mha"), "--baseline", Path("other.json")});
  EXPECT_EQ(coarser.exit_code, 3);
  EXPECT_THAT(coarser.err, HasSubstr("other.json has no checksum"));
  EXPECT_THAT(coarser.err, HasSubstr("those of the baseline 0.25 x 0.25 x 0.25 mm"));
  EXPECT_THAT(coarser.err, HasSubstr("are not comparable, under other conditions: noise_hu"));
  EXPECT_THAT(coarser.out, HasSubstr("NOT COMPARABLE"));
  // The baseline's own scan is no test of it, in whatever file.
  const Outcome itself =
      RunCommand({"qa", Path("accepted.mha"), "--baseline", Path("accepted.json")});
  EXPECT_EQ(itself.exit_code, 1) << itself.out;
  EXPECT_THAT(itself.err, HasSubstr("figures are the same in four digits, as of one scan alone"));
  EXPECT_THAT(itself.err, HasSubstr("needed is a scan of its own"));
  const Outcome noisier = RunCommand({"qa", Scan("noisy.mha", 50, 3), "--baseline",
                                      Path("accepted.json"), "--report", Path("noisy.html")});
  EXPECT_EQ(noisier.exit_code, 3) << noisier.err;
  EXPECT_THAT(noisier.err, HasSubstr("the constancy test is not passed"));
  EXPECT_THAT(noisier.err, HasSubstr("noise_hu"));
  EXPECT_THAT(ReadBytes(Path("noisy.html")), HasSubstr("Constancy test not passed."));
  // A wider tolerance for the noise, which else differs by 25 %.
  ASSERT_EQ(RunCommand({"qa", Path("accepted.mha"), "--json", Path("wide.json"), "--tolerance",
                        "noise_hu=40%", "--tolerance", "low-30=2"})
                .exit_code,
            2);
  ASSERT_EQ(RunCommand({"qa", Path("accepted.mha"), "--json", Path("wide.json"), "--tolerance",
                        "noise_hu=40%"})
                .exit_code,
            0);
  const Outcome wide = RunCommand({"qa", Path("noisy.mha"), "--baseline", Path("wide.json")});
  EXPECT_THAT(wide.err, Not(HasSubstr("noise_hu")));
}

TEST_F(QaTest, ABaselineWithWidthsOfLessThanASliceSaysHowToMakeItAnew) {
  ScanRecipe sharp = Recipe(0, 0);
  sharp.blur_mm = 0.3;
  MadeScan scan = quality::MakeScan("quality", 80, sharp);
  quality::AddNoise(Recipe(40, 1), scan);
  const std::string today = Write("sharp.mha", scan);
  const std::string old_file = Path("old.json");
  ASSERT_EQ(RunCommand({"qa", today, "--json", old_file}).exit_code, 0);
  auto old = nlohmann::json::parse(ReadBytes(old_file));
  ASSERT_TRUE(std::isnan(Value(old, "slice_fwhm_mm")));
  old["measures"].push_back({{"name", "slice_fwhm_mm"}, {"value", 0.9}, {"tolerance", 0.2}});
  old.erase("checksum");
  std::ofstream(old_file) << old;
  MadeScan again = quality::MakeScan("quality", 80, sharp);
  quality::AddNoise(Recipe(40, 2), again);
  const Outcome outcome = RunCommand({"qa", Write("again.mha", again), "--baseline", old_file});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the baseline has slice_fwhm_mm of less than one slice (1.4 "
                                     "mm), which is not measured any more: make the baseline anew "
                                     "of the accepted scan with `isocenter qa ACCEPTED --json " +
                                     old_file + "`"));
}

// A later scan may read less than one slice, which is not measured, and not passed.
TEST_F(QaTest, SlicesAtTheEdgeOfWhatIsMeasuredMakeAPoorBaseline) {
  ScanRecipe recipe = Recipe(0, 0);
  recipe.blur_mm = 0.75;
  const MadeScan scan = quality::MakeScan("quality", 80, recipe);
  const Outcome outcome = RunCommand({"qa", Write("edge.mha", scan), "--json", Path("edge.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const double slices =
      Value(nlohmann::json::parse(ReadBytes(Path("edge.json"))), "slice_fwhm_mm") / 1.4;
  EXPECT_TRUE(slices >= 1 && slices < 1.2) << slices;
  EXPECT_THAT(outcome.err, HasSubstr("slice_fwhm_mm: it is 1."));
  EXPECT_THAT(outcome.err, HasSubstr("reconstruct the phantom on slices of 0.7 mm"));
  const Outcome wide = RunCommand({"qa", Scan("wide.mha", 40, 1), "--json", Path("wide.json")});
  EXPECT_THAT(wide.err, Not(HasSubstr("near the least that is measured")));
}

/// Files that tell how they were made.
TEST_F(QaTest, ConditionsAreComparedAndFramesKnown) {
  const auto scan = [&](const char* name, uint64_t seed, formats::VolumeFacts facts) {
    MadeScan made = Clean();
    quality::AddNoise(Recipe(40, seed), made);
    EXPECT_TRUE(
        formats::WriteMetaImage(Path(name), {made.grid, std::move(made.voxels), std::move(facts)})
            .ok());
    return Path(name);
  };
  formats::VolumeFacts facts{.unit = "HU",
                             .frames = "pixels 00000001",
                             .protocol = "head",
                             .filter = "hann 0.70",
                             .calibration = "room1-a",
                             .tube_voltage_kv = 90};
  const std::string accepted = scan("accepted.mha", 1, facts);
  ASSERT_EQ(RunCommand({"qa", accepted, "--json", Path("accepted.json")}).exit_code, 0);
  const auto json = nlohmann::json::parse(ReadBytes(Path("accepted.json")));
  EXPECT_EQ(json["conditions"]["tube_voltage_kv"], 90);
  EXPECT_THAT(json["comments"], testing::IsEmpty());
  // Another reconstruction of the same frames: no second scan, and no test.
  const std::string again = scan("again.mha", 2, facts);
  const Outcome same = RunCommand({"qa", accepted, "--again", again});
  EXPECT_EQ(same.exit_code, 1);
  EXPECT_THAT(same.err, HasSubstr("is of the same frames as"));
  EXPECT_THAT(RunCommand({"qa", again, "--baseline", Path("accepted.json")}).err,
              HasSubstr("accepted.json: it is of the same frames"));
  facts.frames = "pixels 00000002";
  const Outcome second = RunCommand(
      {"qa", accepted, "--again", scan("second.mha", 2, facts), "--json", Path("second.json")});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NEAR(nlohmann::json::parse(ReadBytes(Path("second.json")))["second_scan"]["correlation"]
                  .get<double>(),
              0, 0.05);
  // Another filter, voltage and set: what depends on which.
  facts.filter = "ram-lak 1.00";
  facts.tube_voltage_kv = 120;
  facts.calibration = "room1-b";
  const Outcome other =
      RunCommand({"qa", scan("other.mha", 3, facts), "--baseline", Path("accepted.json"), "--json",
                  Path("other.json"), "--report", Path("other.html"), "--station", "room1"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("the filter is 'ram-lak 1.00', that of the baseline 'hann"));
  EXPECT_THAT(other.err, HasSubstr("the tube voltage is 120 kV, that of the baseline 90 kV"));
  EXPECT_THAT(other.err, HasSubstr("the calibration set is 'room1-b'"));
  std::map<std::string, std::string> why;
  const auto judged = nlohmann::json::parse(ReadBytes(Path("other.json")));
  for (const auto& verdict : judged["verdicts"]) {
    why[verdict["name"]] = verdict.value("not_comparable", "");
  }
  EXPECT_THAT(why["noise_hu"], testing::AllOf(HasSubstr("filter"), HasSubstr("voltage")));
  EXPECT_THAT(why["mtf50_edge_per_mm"],
              testing::AllOf(HasSubstr("filter"), Not(HasSubstr("voltage"))));
  EXPECT_THAT(why["water_hu"], testing::AllOf(Not(HasSubstr("filter")), HasSubstr("voltage")));
  EXPECT_EQ(why["distance_error_mm"], "");
  for (const char* told : {">room<td>room1", ">tube voltage<td>120 kV", ">acquired<td>not known",
                           ">filter<td>ram-lak 1.00", ">calibration set<td>room1-b"}) {
    EXPECT_THAT(ReadBytes(Path("other.html")), HasSubstr(told));
  }
}

TEST_F(QaTest, JudgesByLimitsOfAFile) {
  const std::string scan = Scan("scan.mha", 40, 1);
  const auto judged = [&](const std::string& limits) {
    std::ofstream(Path("limits.json")) << limits;
    return RunCommand({"qa", scan, "--limits", Path("limits.json"), "--json", Path("qa.json"),
                       "--report", Path("qa.html")});
  };
  const Outcome kept = judged(
      R"({"comment": "licence", "limits": {"water_hu": {"min": -4, "max": 4}, "noise_hu": {"max": 30}}})");
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("LIMIT OF"));
  const Outcome twice = judged(R"({"limits": {"noise_hu": {"max": 5}, "noise_hu": {"max": 500}}})");
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.err, HasSubstr("has two members 'noise_hu' in one object; legal is one"));
  const Outcome broken =
      judged(R"({"limits": {"noise_hu": {"max": 5}, "scale": {"min": 0.99, "max": 1.01}}})");
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, HasSubstr("1 of 2 limits are not kept: noise_hu"));
  const auto json = nlohmann::json::parse(ReadBytes(Path("qa.json")));
  EXPECT_EQ(json["limits_passed"], false);
  ASSERT_EQ(json["limits"].size(), 2u);
  EXPECT_EQ(json["limits"][0]["max"], 5);
  EXPECT_FALSE(json["limits"][0].contains("min"));
  EXPECT_EQ(json["limits"][1]["passed"], true);
  EXPECT_THAT(ReadBytes(Path("qa.html")),
              HasSubstr("<th scope=row>noise, HU<br><code>noise_hu</code><td class=n>"));
  // What a scan does not show keeps no limit.
  const Outcome hidden =
      RunCommand({"qa", Write("clean.mha", Clean()), "--limits", Path("limits.json")});
  EXPECT_EQ(hidden.exit_code, 0) << hidden.err;
  std::ofstream(Path("limits.json")) << R"({"limits": {"nps_mean_per_mm": {"min": 0}}})";
  EXPECT_THAT(RunCommand({"qa", Path("clean.mha"), "--limits", Path("limits.json")}).out,
              HasSubstr("NOT MEASURED"));
  const std::pair<const char*, const char*> slips[] = {
      {"[]", "limits.json"},
      {R"({"limit": {}})", "there is 'limit'; legal is \"limits\" and \"comment\""},
      {R"({"limits": {"noise_hi": {"max": 1}}})", "did you mean noise_hu?"},
      {R"({"limits": {"noise_hu": 30}})", "the limit of noise_hu is 30; legal is an object"},
      {R"({"limits": {"noise_hu": {"mox": 30}}})", "the limit of noise_hu has 'mox'"},
      {R"({"limits": {"noise_hu": {"max": "30"}}})",
       "max of noise_hu is \"30\"; legal is a number"},
      {R"({"limits": {"noise_hu": {"min": 3, "max": 2}}})", "the limits of noise_hu are 3 to 2"},
      {R"({"limits": {}})", "there are 0 limits; legal is 1 to 64"},
  };
  for (const auto& [limits, said] : slips) {
    const Outcome outcome = judged(limits);
    EXPECT_EQ(outcome.exit_code, 1) << limits;
    EXPECT_THAT(outcome.err, HasSubstr(said));
  }
}

/// Numbers of another scale by the inserts; where these are right, by the water.
TEST_F(QaTest, NumbersThatAreNoHounsfieldUnitsAreRefused) {
  MadeScan counts = Clean();
  for (float& value : counts.voxels) value += 750;
  Outcome outcome = RunCommand({"qa", Write("counts.mha", std::move(counts))});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("are the voxels in Hounsfield units?"));
  MadeScan water = Clean();
  const int64_t slice = int64_t{water.grid.nx} * water.grid.ny;
  for (int k = 0; k < water.grid.nz; ++k) {
    const double z = water.grid.VoxelToWorld(0, 0, k).z;
    if (z < -41 || z > -23) continue;  // of the uniform module
    for (int64_t i = k * slice; i < (k + 1) * slice; ++i) water.voxels[i] += 800;
  }
  outcome = RunCommand({"qa", Write("water.mha", std::move(water))});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(
      outcome.err,
      HasSubstr("the uniform module reads 800 HU where it is water; legal is within 700 HU"));
}

TEST_F(QaTest, CommentsOnScansThatNothingCorrected) {
  MadeScan made = Clean();
  quality::AddNoise(Recipe(40, 1), made);
  ASSERT_TRUE(formats::WriteMetaImage(
                  Path("raw.mha"),
                  {made.grid, std::move(made.voxels), {.calibration = quality::kUncorrectedScan}})
                  .ok());
  const Outcome outcome =
      RunCommand({"qa", Path("raw.mha"), "--json", Path("raw.json"), "--report", Path("raw.html")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string& told :
       {outcome.err, ReadBytes(Path("raw.json")), ReadBytes(Path("raw.html"))}) {
    EXPECT_THAT(told, HasSubstr("the frames were not corrected (no calibration set)"));
  }
}

TEST_F(QaTest, SaysWhatIsWrong) {
  const auto said = [](std::vector<std::string> arguments, int exit_code = 1) {
    arguments.insert(arguments.begin(), "qa");
    const Outcome outcome = RunCommand(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(said({}, 2), HasSubstr("neither VOLUME nor --job"));
  const std::string scan = Scan("scan.mha", 30, 1);
  const std::string head = Write("head.mha", quality::MakeScan("head", 80, Recipe(0, 0)));
  EXPECT_THAT(said({head}), HasSubstr("is it this phantom"));
  EXPECT_THAT(said({scan, "--phantom", "catphan"}), HasSubstr("legal is 10 or more"));
  for (const char* text : {"", "{", "[]", "{\"measures\": [{}]}", "{\"measures\": []}"}) {
    std::ofstream(Path("bad.json")) << text;
    EXPECT_THAT(said({scan, "--baseline", Path("bad.json")}), HasSubstr("legal is"));
  }
  EXPECT_THAT(said({scan, "--record"}, 2), HasSubstr("--station and --protocol"));
  EXPECT_THAT(said({scan, "--json", scan}), HasSubstr("--json"));
  MadeScan blank = Clean();
  std::fill_n(blank.voxels.begin() + int64_t{50} * 124 * 124, 124 * 124, -1000.0f);
  EXPECT_THAT(said({Write("blank.mha", std::move(blank))}), HasSubstr("slice 51 of 106 is blank"));
}

}  // namespace
}  // namespace isocenter::client_test
