#include "server/replicas/replica_store.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/server/replicas/replica_fixture.h"

namespace isocenter::replicas {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ReplicaStoreTest, HeadersThatCannotBeAreRefusedBeforeAnythingIsTaken) {
  const std::vector<std::pair<std::function<void(ReplicaHeader&)>, const char*>> wrong = {
      {[](auto& h) { h.job_id = "../../etc/passwd"; }, "header.job_id is '../../etc/passwd'"},
      {[](auto& h) { h.job_id = ".."; }, "header.job_id is '..'"},
      {[](auto& h) { h.job_id = ""; }, "header.job_id is ''"},
      {[](auto& h) { h.job_id = std::string(65, 'a'); }, "1 to 64 of"},
      {[](auto& h) { h.origin.node = "a/b"; }, "origin.node is 'a/b'"},
      {[](auto& h) { h.origin.spool_id = "../aaaa"; }, "origin.spool_id is '../aaaa'"},
      {[](auto& h) { h.frames = 0; }, "header.frames is 0; legal is 1 to 10000"},
      {[](auto& h) { h.frames = 10001; }, "header.frames is 10001"},
      {[](auto& h) { h.frame_bytes = 0; }, "header.frame_bytes is 0"},
      {[](auto& h) { h.frame_bytes = -1; }, "header.frame_bytes is -1"},
      {[](auto& h) { h.frame_bytes = (int64_t{1} << 30) + 1; }, "header.frame_bytes is"},
      {[](auto& h) { h.acquisition = std::string(kMostAcquisitionBytes + 1, 'a'); },
       "header.acquisition has"},
      {[](auto& h) { h.begun_by = std::string(1025, 'a'); }, "header.begun_by has 1025 bytes"}};
  for (const auto& [spoil, text] : wrong) {
    ReplicaHeader header = HeaderOf("job");
    spoil(header);
    const auto writer = store_->Begin(header);
    EXPECT_EQ(writer.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(writer.status().message()), HasSubstr(text));
  }
  EXPECT_EQ(store_->usage().copies, 0);
}

TEST_F(ReplicaStoreTest, ACopyGoesOnAfterItsStreamAndThisNodeWereAway) {
  {
    const auto writer = Begin(HeaderOf("job"));
    ASSERT_TRUE(spool::AppendNow(writer->frames(), spool::FrameOf(1, 1000)).ok());
  }
  Start();
  const auto writer = Begin(HeaderOf("job"));
  EXPECT_THAT(writer->frames().states(),
              ElementsAre(jobs::FrameState::kMissing, jobs::FrameState::kPresent,
                          jobs::FrameState::kMissing));
  spool::ExpectFrame(writer->frames(), 1, 1000);
  EXPECT_EQ(store_->usage().copies, 1);
}

TEST_F(ReplicaStoreTest, AnotherAcquisitionUnderTheIdIsRefused) {
  Begin(HeaderOf("job"));
  ReplicaHeader other = HeaderOf("job");
  other.acquisition = "another one";
  EXPECT_EQ(store_->Begin(other).status().code(), absl::StatusCode::kAlreadyExists);
  other = HeaderOf("job");
  other.frames = 4;
  EXPECT_EQ(store_->Begin(other).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(ReplicaStoreTest, WhatHasNoRoomIsRefusedAndTakesNone) {
  options_.spool.capacity_bytes = 64 << 10;
  options_.spool.capacity_source = "the test";
  Start();
  Begin(HeaderOf("small"));
  const int64_t used = store_->usage().bytes;
  const auto large = store_->Begin(HeaderOf("large", kFirst, 10000, 1 << 20));
  EXPECT_EQ(large.status().code(), absl::StatusCode::kResourceExhausted) << large.status();
  EXPECT_EQ(store_->usage().bytes, used);
  EXPECT_EQ(store_->usage().copies, 1);
}

TEST_F(ReplicaStoreTest, WhatIsNotNeededAnyMoreGoes) {
  Begin(HeaderOf("done"));
  Begin(HeaderOf("needed"));
  Begin(HeaderOf("others", kThird));
  const auto writing = Begin(HeaderOf("writing"));
  // A report that was made before the copies were begun.
  ASSERT_TRUE(store_->Report(kFirst, {"needed"}).ok());
  EXPECT_EQ(store_->usage().copies, 4);
  now_ += absl::Seconds(6);
  ASSERT_TRUE(store_->Report(kFirst, {"needed"}).ok());
  EXPECT_EQ(store_->usage().copies, 3);
  EXPECT_EQ(store_->Report({.node = "recon1", .spool_id = "x"}, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ReplicaStoreTest, ANodeThatComesBackEmptyDoesNotRemoveWhatItsLostDiskNeeds) {
  Begin(HeaderOf("job"));
  now_ += absl::Seconds(20);
  const Origin empty{.node = kFirst.node, .spool_id = std::string(32, 'b')};
  ASSERT_TRUE(store_->Report(empty, {}).ok());
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  now_ += absl::Seconds(11);
  ASSERT_TRUE(store_->Report(empty, {}).ok());
  EXPECT_THAT(store_->Orphans(), ElementsAre("job"));
}

TEST_F(ReplicaStoreTest, AnOriginThatIsHeardOfIsNotLost) {
  const auto writer = Begin(HeaderOf("job"));
  now_ += absl::Seconds(25);
  writer->Touch();
  now_ += absl::Seconds(25);
  ASSERT_TRUE(store_->Report(kFirst, {"job"}).ok());
  now_ += absl::Seconds(25);
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  EXPECT_EQ(store_->Take("job").status().code(), absl::StatusCode::kNotFound);
  now_ += absl::Seconds(6);
  EXPECT_THAT(store_->Orphans(), ElementsAre("job"));
}

TEST_F(ReplicaStoreTest, WhatIsTakenOverIsNotWrittenMeanwhile) {
  Begin(HeaderOf("job"));
  now_ += absl::Seconds(31);
  const auto replica = store_->Take("job");
  ASSERT_TRUE(replica.ok()) << replica.status();
  EXPECT_EQ(replica->record.acquisition, "acquisition of job");
  EXPECT_EQ(replica->record.begun_by, "token room1");
  EXPECT_EQ(replica->record.origin, kFirst);
  EXPECT_EQ(store_->Begin(HeaderOf("job")).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  store_->LetGo("job", absl::OkStatus());
  EXPECT_THAT(store_->Orphans(), ElementsAre("job"));
  store_->Remove("job");
  EXPECT_EQ(store_->usage().copies, 0);
}

TEST_F(ReplicaStoreTest, AfterAStartOriginsHaveTheirTimeAgain) {
  Begin(HeaderOf("job"));
  now_ += absl::Hours(1);
  Start();
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  now_ += absl::Seconds(31);
  EXPECT_THAT(store_->Orphans(), ElementsAre("job"));
}

TEST_F(ReplicaStoreTest, WhatNobodyCouldTakeOverGoesInTheEnd) {
  Begin(HeaderOf("job"));
  now_ += options_.keep + absl::Seconds(1);
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  EXPECT_EQ(store_->usage().copies, 0);
}

TEST_F(ReplicaStoreTest, AConsoleThatWentToAnotherOriginTakesItsCopyAlong) {
  auto first = Begin(HeaderOf("job"));
  EXPECT_EQ(store_->Begin(HeaderOf("job", kThird)).status().code(),
            absl::StatusCode::kAlreadyExists);
  first.reset();
  Begin(HeaderOf("job", kThird));
  now_ += absl::Seconds(31);
  const auto replica = store_->Take("job");
  ASSERT_TRUE(replica.ok()) << replica.status();
  EXPECT_EQ(replica->record.origin, kThird);
}

TEST_F(ReplicaStoreTest, OfAJobThatThisNodeHasNoCopyIsTaken) {
  options_.has_job = [](const std::string& id) { return id == "own"; };
  Start();
  EXPECT_EQ(store_->Begin(HeaderOf("own")).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(ReplicaStoreTest, AnOriginThatComesBackWithAJobThatIsHereHasItAgain) {
  std::set<std::string> active = {"taken", "also taken"};
  options_.has_active_job = [&](const std::string& id) { return active.contains(id); };
  Start();
  EXPECT_EQ(store_->ReclaimedBy("taken"), std::nullopt);
  ASSERT_TRUE(store_->Report(kFirst, {"taken", "its own"}).ok());
  EXPECT_EQ(store_->ReclaimedBy("taken"), "recon1");
  EXPECT_EQ(store_->ReclaimedBy("also taken"), std::nullopt);
  EXPECT_EQ(store_->ReclaimedBy("its own"), std::nullopt);
  // It has completed it there, and lives.
  now_ += options_.take_over;
  ASSERT_TRUE(store_->Report(kFirst, {}).ok());
  now_ += options_.take_over;
  ASSERT_TRUE(store_->Report(kThird, {}).ok());
  EXPECT_EQ(store_->ReclaimedBy("taken"), "recon1");
  // One that is lost again does not.
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(store_->ReclaimedBy("taken"), std::nullopt);
  // What has ended here is not remembered.
  active.clear();
  ASSERT_TRUE(store_->Report(kFirst, {}).ok());
  EXPECT_EQ(store_->ReclaimedBy("taken"), std::nullopt);
}

TEST_F(ReplicaStoreTest, AJobIsTakenOverByHandWhenItsOriginIsSilentAndOnlyThen) {
  options_.take_over = absl::Hours(1);
  Start();
  Begin(HeaderOf("job"));
  EXPECT_EQ(store_->Want("other").code(), absl::StatusCode::kNotFound);
  const absl::Status alive = store_->Want("job");
  EXPECT_EQ(alive.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(alive.message()),
              HasSubstr("node recon1, whose job job is, was heard of"));
  now_ += absl::Seconds(4);
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  ASSERT_TRUE(store_->Want("job").ok());
  EXPECT_TRUE(store_->IsWanted("job"));
  EXPECT_THAT(store_->Orphans(), ElementsAre("job"));
  ASSERT_TRUE(store_->Take("job").ok());
  EXPECT_FALSE(store_->IsWanted("job"));
  EXPECT_TRUE(store_->List()[0].being_taken);
  store_->LetGo("job", absl::FailedPreconditionError("no calibration"));
  EXPECT_EQ(store_->List()[0].failure.message(), "no calibration");
  // One attempt for each time that it is asked for; and none when its node is back.
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  ASSERT_TRUE(store_->Want("job").ok());
  ASSERT_TRUE(store_->Report(kFirst, {"job"}).ok());
  EXPECT_THAT(store_->Orphans(), IsEmpty());
  EXPECT_EQ(store_->Take("job").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ReplicaStoreTest, ACopyIsDroppedByHandWhenNobodyUsesIt) {
  auto writer = Begin(HeaderOf("job"));
  EXPECT_EQ(store_->Drop("job").code(), absl::StatusCode::kFailedPrecondition) << "it lives";
  now_ += absl::Seconds(4);
  EXPECT_THAT(std::string(store_->Drop("job").message()), HasSubstr("is being written"));
  writer.reset();
  now_ += absl::Seconds(31);
  ASSERT_TRUE(store_->Take("job").ok());
  EXPECT_THAT(std::string(store_->Drop("job").message()), HasSubstr("is being taken over"));
  store_->LetGo("job", absl::OkStatus());
  ASSERT_TRUE(store_->Drop("job").ok());
  EXPECT_EQ(store_->usage().copies, 0);
  EXPECT_THAT(store_->List(), IsEmpty());
  EXPECT_EQ(store_->Drop("job").code(), absl::StatusCode::kNotFound);
  Begin(HeaderOf("job"));  // its node may begin again
  EXPECT_EQ(store_->usage().copies, 1);
}

TEST_F(ReplicaStoreTest, CopiesAreListedWithWhatTheyHave) {
  {
    const auto writer = Begin(HeaderOf("first"));
    ASSERT_TRUE(spool::AppendNow(writer->frames(), spool::FrameOf(1, 1000)).ok());
    ASSERT_TRUE(writer->frames().DeclareGap(2).ok());
    ASSERT_TRUE(writer->frames().Finish().ok());
  }
  Begin(HeaderOf("second", kThird));
  now_ += absl::Seconds(20);
  ASSERT_TRUE(store_->Report(kThird, {"second"}).ok());
  now_ += absl::Seconds(15);
  const auto list = store_->List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].job_id, "first");
  EXPECT_EQ(list[0].origin, kFirst);
  EXPECT_TRUE(list[0].is_orphan);
  EXPECT_EQ(list[0].frames, 3);
  EXPECT_EQ(list[0].present, 1);
  EXPECT_EQ(list[0].gaps, 1);
  EXPECT_TRUE(list[0].finished);
  EXPECT_EQ(list[0].silence, absl::Seconds(35));
  EXPECT_FALSE(list[1].is_orphan);
  EXPECT_FALSE(list[1].finished);
  EXPECT_EQ(list[1].silence, absl::Seconds(15));
  const auto counts = store_->Count();
  EXPECT_EQ(counts.at("recon1").orphans, 1);
  EXPECT_EQ(counts.at("recon3").copies, 1);
  EXPECT_EQ(counts.at("recon3").orphans, 0);
}

TEST_F(ReplicaStoreTest, ANodeThatInventsDisksIsNotRememberedByThem) {
  for (int i = 0; i < 50; ++i) {
    const Origin invented{.node = kFirst.node, .spool_id = absl::StrFormat("%032x", i)};
    ASSERT_TRUE(store_->Report(invented, {"job"}).ok());  // of which there is nothing
    Begin(HeaderOf("job", invented));                     // each takes the place of the one before
  }
  EXPECT_EQ(store_->usage().copies, 1);
  EXPECT_EQ(store_->known_origins(), 1u);
}

TEST_F(ReplicaStoreTest, TheShareOfTheDiskFollowsTheDisk) {
  int64_t free_bytes = 40'000;
  options_.spool.capacity_bytes = 1;
  options_.spool.capacity_follows_disk = true;
  options_.spool.shares = 4;
  options_.spool.disk = [&] {
    return absl::StatusOr<jobs::Disk>(jobs::Disk{.id = 1, .free_bytes = free_bytes});
  };
  Start();
  EXPECT_EQ(store_->usage().capacity_bytes, 10'000);
  EXPECT_EQ(store_->Begin(HeaderOf("large", kFirst, 3, 30'000)).status().code(),
            absl::StatusCode::kResourceExhausted);
  free_bytes = 4'000'000;  // somebody has made room
  Begin(HeaderOf("large", kFirst, 3, 30'000));
  EXPECT_GE(store_->usage().capacity_bytes, 1'000'000);
}

TEST_F(ReplicaStoreTest, AFileThatIsNoCopyIsLeftAlone) {
  Begin(HeaderOf("job"));
  store_.reset();
  const auto path = options_.spool.directory / "other.spool";
  spool::WriteFile(path, spool::Bytes(5000));
  Start();
  now_ += absl::Seconds(31);
  EXPECT_THAT(store_->Orphans(), ElementsAre("job"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace isocenter::replicas
