// Results on disk: what is acknowledged stays, and one baseline for each room and protocol.
#include "server/quality/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::quality_records {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::QualityResult Result(double noise, const std::string& station = "room1",
                         bool baseline = false) {
  v1::QualityResult result;
  result.set_station_name(station);
  result.set_protocol("head");
  result.set_baseline(baseline);
  v1::QualityMeasure& measure = *result.add_measure();
  measure.set_name("noise_hu");
  measure.set_value(noise);
  measure.set_tolerance(2);
  return result;
}

class StoreTest : public ::testing::Test {
 protected:
  void Open(StoreOptions options = {}) {
    store_.reset();
    options.directory = directory_.path() / "quality";
    options.clock = [this] { return now_ += absl::Milliseconds(1); };
    auto opened = Store::Open(options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  void SetUp() override { Open(); }
  std::vector<double> Noises(const std::string& station = "") const {
    std::vector<double> noises;
    for (const auto& result : store_->List(station, "", 1000)) {
      noises.push_back(result.measure(0).value());
    }
    return noises;
  }
  fs::path OnlyFile(const char* ending) const {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(directory_.path() / "quality")) {
      if (entry.path().extension() != ending) continue;
      EXPECT_TRUE(found.empty()) << entry.path();
      found = entry.path();
    }
    return found;
  }

  testing::TemporaryDirectory directory_;
  absl::Time now_ = absl::FromUnixSeconds(1'764'000'000);
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsResultsAndJudgesThemByTheBaseline) {
  EXPECT_THAT(store_->Record(Result(20))->verdict(), IsEmpty());
  const auto baseline = store_->Record(Result(21, "room1", true));
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  EXPECT_TRUE(baseline->baseline());
  EXPECT_TRUE(store_->Record(Result(22.5))->verdict(0).passed());
  const auto worse = store_->Record(Result(24));
  EXPECT_FALSE(worse->verdict(0).passed());
  EXPECT_EQ(worse->verdict(0).baseline(), 21);
  EXPECT_THAT(store_->Record(Result(30, "room2"))->verdict(), IsEmpty());
  Open();  // as after a restart
  EXPECT_THAT(Noises("room1"), ElementsAre(24, 22.5, 21, 20));
  const auto all = store_->List("room1", "head", 10);
  EXPECT_FALSE(all[0].verdict(0).passed());
  EXPECT_TRUE(all[2].baseline());
  EXPECT_THAT(store_->Newest(), SizeIs(2));
  EXPECT_THAT(store_->List("", "", 2), SizeIs(2));
}

TEST_F(StoreTest, SaysWhyAFigureIsNotJudged) {
  const auto with = [](double noise, bool baseline, const std::string& name, double value) {
    v1::QualityResult result = Result(noise, "room1", baseline);
    v1::QualityMeasure& measure = *result.add_measure();
    measure.set_name(name);
    measure.set_value(value);
    measure.set_tolerance(0.6);
    return result;
  };
  EXPECT_THAT(store_->Record(Result(19))->not_judged(), IsEmpty());
  // Of which a disc that has lost half of its contrast would pass.
  const auto baseline = store_->Record(with(20, true, "cnr_low-10", 1.1));
  ASSERT_THAT(baseline->not_judged(), SizeIs(1));
  EXPECT_EQ(baseline->not_judged(0).name(), "cnr_low-10");
  EXPECT_THAT(baseline->not_judged(0).why(), HasSubstr("it is 1.10 at the baseline"));
  const auto later = store_->Record(with(21, false, "water_hu", 1));
  EXPECT_THAT(later->verdict(), SizeIs(1));
  ASSERT_THAT(later->not_judged(), SizeIs(2));
  EXPECT_EQ(later->not_judged(0).name(), "cnr_low-10");
  EXPECT_EQ(later->not_judged(1).name(), "water_hu");
  EXPECT_THAT(later->not_judged(1).why(), HasSubstr("the baseline does not have it"));
}

TEST_F(StoreTest, ABaselineIsReplacedForGood) {
  const auto first = store_->Record(Result(20, "room1", true));
  const auto second = store_->Record(Result(25));
  EXPECT_FALSE(second->verdict(0).passed());
  const auto set = store_->SetBaseline(second->id());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(set->baseline());
  // What a crash between the two would leave: the mark of the first is there again.
  std::ofstream(directory_.path() / "quality" / (first->id() + ".1.baseline"));
  Open();
  const auto all = store_->List("room1", "head", 10);
  EXPECT_TRUE(all[0].baseline());
  EXPECT_FALSE(all[1].baseline());
  EXPECT_THAT(OnlyFile(".baseline").string(), HasSubstr(second->id()));
  EXPECT_EQ(store_->SetBaseline("q0").status().code(), absl::StatusCode::kNotFound);
}

/// A result of a scan whose conditions are told.
v1::QualityResult Scanned(double noise, const std::string& frames, const std::string& filter) {
  v1::QualityResult result = Result(noise);
  result.set_phantom("quality");
  v1::QualityMeasure& water = *result.add_measure();
  water.set_name("water_hu");
  water.set_value(0.1 * noise);
  water.set_tolerance(4);
  v1::QualityConditions& conditions = *result.mutable_conditions();
  conditions.set_frames(frames);
  conditions.set_filter(filter);
  conditions.set_voxel_x_mm(1);
  conditions.set_voxel_y_mm(1);
  conditions.set_voxel_z_mm(1);
  return result;
}

TEST_F(StoreTest, JudgesUnderTheConditionsOfTheBaseline) {
  v1::QualityResult accepted = Scanned(20, "pixels 1", "hann 0.70");
  accepted.set_baseline(true);
  ASSERT_TRUE(store_->Record(accepted).ok());
  const auto today = store_->Record(Scanned(20.5, "pixels 2", "ram-lak 1.00"));
  ASSERT_TRUE(today.ok()) << today.status();
  ASSERT_THAT(today->verdict(), SizeIs(2));
  EXPECT_FALSE(today->verdict(0).passed());
  EXPECT_THAT(today->verdict(0).not_comparable(), HasSubstr("the filter is 'ram-lak 1.00'"));
  EXPECT_TRUE(today->verdict(1).passed());
  EXPECT_THAT(today->changed_condition(), ElementsAre(HasSubstr("the filter is")));
  EXPECT_THAT(today->untold_condition(), ElementsAre("tube voltage", "calibration set"));
  Open();  // as after a restart
  EXPECT_THAT(store_->List("", "", 1)[0].verdict(0).not_comparable(), HasSubstr("filter"));
}

TEST_F(StoreTest, TheBaselinesOwnScanAndAnotherPhantomAreRefused) {
  v1::QualityResult accepted = Scanned(20, "pixels 1", "hann 0.70");
  accepted.set_baseline(true);
  const auto baseline = store_->Record(accepted);
  ASSERT_TRUE(baseline.ok());
  const auto itself = store_->Record(Scanned(25, "pixels 1", "ram-lak 1.00")).status();
  EXPECT_EQ(itself.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(itself.message()), HasSubstr("that of the baseline " + baseline->id()));
  v1::QualityResult other = Scanned(20, "pixels 2", "hann 0.70");
  other.set_phantom("catphan");
  EXPECT_EQ(store_->Record(other).status().code(), absl::StatusCode::kInvalidArgument);
  // The same scan twice is kept, and said.
  const auto first = store_->Record(Scanned(21, "pixels 3", "hann 0.70"));
  EXPECT_EQ(first->same_scan_id(), "");
  EXPECT_EQ(store_->Record(Scanned(21, "pixels 3", "hann 0.70"))->same_scan_id(), first->id());
  v1::QualityResult wrong = Scanned(21, "pixels 4", "hann 0.70");
  wrong.mutable_conditions()->set_tube_voltage_kv(5000);
  EXPECT_THAT(std::string(store_->Record(wrong).status().message()),
              HasSubstr("conditions.tube_voltage_kv"));
}

TEST_F(StoreTest, ABaselineIsReplacedOnlyWhereItIsNamed) {
  ASSERT_TRUE(store_->Record(Result(20, "room1", true), "").ok());
  const std::string first = store_->List("", "", 1)[0].id();
  const auto unnamed = store_->Record(Result(25, "room1", true), "").status();
  EXPECT_EQ(unnamed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unnamed.message()), HasSubstr("the baseline of room1, head is " + first));
  EXPECT_THAT(store_->List("", "", 10), SizeIs(1));
  const auto second = store_->Record(Result(25, "room1", true), first);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->replaced_id(), first);
  ASSERT_THAT(second->replaced_verdict(), SizeIs(1));
  EXPECT_FALSE(second->replaced_verdict(0).passed());
  EXPECT_THAT(second->verdict(), IsEmpty());
  // Who does not ask for it replaces what there is, as before.
  EXPECT_EQ(store_->Record(Result(26, "room1", true))->replaced_id(), second->id());
  EXPECT_EQ(store_->SetBaseline(first)->replaced_verdict_size(), 1);
}

/// Results of before conditions were kept: those of their jobs.
TEST_F(StoreTest, OldResultsHaveTheConditionsOfTheirJobs) {
  v1::QualityResult old = Result(20, "room1", true);
  old.set_job_id("a");
  ASSERT_TRUE(store_->Record(old).ok());
  Open({.directory = {}, .conditions_of_job = [](const std::string& job) {
          v1::QualityConditions conditions;
          conditions.set_frames("job " + job);
          conditions.set_filter(job == "a" ? "hann 0.70" : "ram-lak 1.00");
          return conditions;
        }});
  v1::QualityResult today = Result(20.5);
  today.set_job_id("b");
  const auto kept = store_->Record(today);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->conditions().frames(), "job b");
  EXPECT_THAT(kept->verdict(0).not_comparable(), HasSubstr("filter"));
  today.set_job_id("a");
  EXPECT_EQ(store_->Record(today).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StoreTest, SetsDamagedFilesAside) {
  ASSERT_TRUE(store_->Record(Result(20)).ok());
  const fs::path file = OnlyFile(".isoqual");
  {
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(20);
    damaged.put('\x7f');
  }
  Open();
  EXPECT_THAT(Noises(), IsEmpty());
  ASSERT_THAT(store_->repairs(), SizeIs(1));
  EXPECT_THAT(store_->repairs()[0], HasSubstr("is damaged"));
  EXPECT_TRUE(fs::exists(file.string() + ".damaged"));
}

TEST_F(StoreTest, ForgetsTheOldestButNoBaseline) {
  Open({.directory = {}, .most_results = 3});
  ASSERT_TRUE(store_->Record(Result(1, "room1", true)).ok());
  for (const double noise : {2.0, 3.0, 4.0, 5.0}) ASSERT_TRUE(store_->Record(Result(noise)).ok());
  EXPECT_THAT(Noises(), ElementsAre(5, 4, 1));
  Open({.directory = {}, .most_results = 3});
  EXPECT_THAT(Noises(), ElementsAre(5, 4, 1));
}

TEST_F(StoreTest, RefusesWhatIsTooMuchOrIllegal) {
  Open({.directory = {}, .most_series = 2});
  ASSERT_TRUE(store_->Record(Result(1, "a")).ok());
  ASSERT_TRUE(store_->Record(Result(1, "b")).ok());
  const auto third = store_->Record(Result(1, "c"));
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("legal is at most 2"));
  v1::QualityResult none = Result(1, "a");
  none.clear_measure();
  EXPECT_EQ(store_->Record(none).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StoreTest, ResultsOfOneMomentHaveNamesOfTheirOwn) {
  store_.reset();
  auto opened =
      Store::Open({.directory = directory_.path() / "quality", .clock = [this] { return now_; }});
  ASSERT_TRUE(opened.ok());
  store_ = *std::move(opened);
  for (const double noise : {1.0, 2.0, 3.0}) {
    ASSERT_TRUE(store_->Record(Result(noise, "room1", true)).ok());
  }
  Open();
  const auto all = store_->List("", "", 10);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_TRUE(all[0].baseline());
}

}  // namespace
}  // namespace isocenter::quality_records
