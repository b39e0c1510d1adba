// A database that goes, hangs, has no room, and comes back.
#include <string>

#include "tests/server/cluster_index/cluster_fixture.h"

namespace isocenter::cluster_index {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OutageTest : public ClusterTest {
 protected:
  ~OutageTest() override {
    if (is_killed_) PostgresServer::Get().Start();
  }
  void Kill() {
    PostgresServer::Get().Kill();
    is_killed_ = true;
  }
  void Restart() {
    PostgresServer::Get().Start();
    is_killed_ = false;
  }
  bool is_killed_ = false;
};

TEST_F(OutageTest, ANodeGoesOnAloneSaysSoAndCatchesUp) {
  TestNode& a = Start("a");
  TestNode& b = Start("b");
  Store(a, "job1", ResultOf("1", 2));
  Store(b, "job2", ResultOf("2", 2));
  AllStudies(a);
  EXPECT_THAT(AllStudies(b), ElementsAre("1.2.1", "1.2.2"));
  Kill();
  archive::Gap gap;
  EXPECT_THAT(Studies(a, gap), ElementsAre("1.2.1"));
  EXPECT_EQ(gap, "only of node a: the shared index does not answer");
  EXPECT_TRUE(Eventually([&] { return !a.index->is_up(); }));
  Store(a, "job3", ResultOf("3", 2));
  ASSERT_TRUE(a.archive->Delete("job1").ok());
  EXPECT_EQ(a.index->waiting(), 2);
  // Also over a restart of the node.
  Stop("a");
  TestNode& again = Start("a");
  EXPECT_EQ(again.index->waiting(), 2);
  EXPECT_FALSE(again.index->is_up());
  gap.clear();
  EXPECT_THAT(Studies(again, gap), ElementsAre("1.2.3"));
  EXPECT_NE(gap, "");
  Restart();
  EXPECT_THAT(AllStudies(again), ElementsAre("1.2.2", "1.2.3"));
  EXPECT_TRUE(Eventually([&] { return again.index->is_up() && b.index->is_up(); }));
  EXPECT_THAT(AllStudies(b), ElementsAre("1.2.2", "1.2.3"));
  EXPECT_EQ(again.index->waiting(), 0);
}

TEST_F(OutageTest, KilledWhileItIsToldNothingIsLost) {
  constexpr int kResults = 40;
  TestNode& a = Start("a");
  AllStudies(a);
  for (int i = 0; i < kResults; ++i) {
    Store(a, absl::StrCat("job", i), ResultOf(absl::StrCat(i), 20));
    if (i == kResults / 2) Kill();
  }
  EXPECT_GT(a.index->waiting(), 0);
  Restart();
  EXPECT_EQ(AllStudies(a).size(), size_t{kResults});
  EXPECT_EQ(Run("SELECT COUNT(*) FROM isocenter.instances"), absl::StrCat(kResults * 20));
}

TEST_F(OutageTest, OneThatHangsIsNotWaitedForLongerThanIsConfigured) {
  ClusterIndexOptions options = OptionsOf("a");
  options.answer = absl::Milliseconds(500);
  TestNode& a = StartWith(options);
  Store(a, "job1", ResultOf("1", 1));
  AllStudies(a);
  PostgresServer::Get().Freeze();
  for (int i = 0; i < 3; ++i) {
    const absl::Time begin = absl::Now();
    archive::Gap gap;
    EXPECT_THAT(Studies(a, gap), ElementsAre("1.2.1"));
    EXPECT_EQ(gap, "only of node a: the shared index does not answer");
    EXPECT_LT(absl::Now() - begin, absl::Seconds(5));  // ten times slower
  }
  PostgresServer::Get().Thaw();
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
}

TEST_F(OutageTest, ADatabaseThatTakesNothingLeavesTheNodesIndexAsItIs) {
  TestNode& a = Start("a");
  AllStudies(a);
  Run("ALTER TABLE isocenter.series ADD CONSTRAINT none CHECK (job_id <> 'job1')");
  Store(a, "job1", ResultOf("1", 1));
  Store(a, "job2", ResultOf("2", 1));
  // One that is refused keeps back no other, and answers say that it is missing.
  EXPECT_TRUE(Eventually([&] { return a.index->waiting() == 1; }));
  archive::Gap gap;
  EXPECT_THAT(Studies(a, gap), ElementsAre("1.2.2"));
  EXPECT_THAT(gap, HasSubstr("not all of node a"));
  Run("ALTER TABLE isocenter.series DROP CONSTRAINT none");
  Stop("a");
  EXPECT_THAT(AllStudies(Start("a")), ElementsAre("1.2.1", "1.2.2"));
}

}  // namespace
}  // namespace isocenter::cluster_index
