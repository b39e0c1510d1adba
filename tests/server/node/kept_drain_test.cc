#include "server/node/kept_drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "server/node/node.h"
#include "tests/server/fakes/service_under_test.h"

namespace isocenter::node {
namespace {

using ::testing::HasSubstr;

class KeptDrainTest : public ::testing::Test {
 protected:
  KeptDrainTest() { Restart(); }
  /// As after a crash: what a process held is gone, what is on the disk stays.
  void Restart() {
    node_.reset();
    service_.Restart();
    node_ = std::make_unique<Node>(NodeOptions{.spool = [] { return SpoolState(); },
                                               .clock = [this] { return now_; },
                                               .drain_file = file_},
                                   *service_.engine, *service_.scheduler, *service_.table);
  }
  void Write(const std::string& text) { std::ofstream(file_) << text; }
  std::string Admission() const {
    for (const Reason& reason : node_->NotReady()) {
      if (reason.component == "admission" && reason.message.find("drained") != std::string::npos) {
        return reason.message;
      }
    }
    return "";
  }

  isocenter::testing::PipelineUnderTest service_;
  const std::filesystem::path file_ = service_.directory.path() / KeptDrain::kFileName;
  absl::Time now_ = absl::FromUnixMillis(1'700'000'000'250);
  std::unique_ptr<Node> node_;
};

TEST_F(KeptDrainTest, OutlastsTheProcessUntilSomebodyResumes) {
  EXPECT_EQ(Admission(), "");
  const Drained said{now_, "new \"filter\" \xC3\xA4 \\n", "CN=ward\n3"};
  ASSERT_TRUE(node_->Drain(said.reason, said.by).ok());
  now_ += absl::Hours(1);
  for (int start = 0; start < 2; ++start) {
    Restart();
    EXPECT_EQ(node_->drained(), said);
    EXPECT_THAT(Admission(), HasSubstr(said.reason));
  }
  ASSERT_TRUE(node_->Resume("ward 3").ok());
  Restart();
  EXPECT_EQ(node_->drained(), std::nullopt);
}

TEST_F(KeptDrainTest, TheEndOfAProcessIsNoDrain) {
  node_->SetStopping();
  Restart();
  EXPECT_EQ(node_->drained(), std::nullopt);
}

TEST_F(KeptDrainTest, KeepsTheFirstReason) {
  ASSERT_TRUE(node_->Drain("first", "a").ok());
  ASSERT_TRUE(node_->Drain("second", "b").ok());
  Restart();
  EXPECT_EQ(node_->drained()->reason, "first");
}

TEST_F(KeptDrainTest, ADamagedFileIsADrain) {
  for (const std::string& text :
       {std::string(), std::string("since yesterday\nby a\nreason b\n"),
        std::string("since 2026-11-28T20:00:00Z\nby a\nrea"), std::string(100'000, 'x')}) {
    Write(text);
    Restart();
    ASSERT_TRUE(node_->drained()) << text.substr(0, 80);
    EXPECT_THAT(Admission(), HasSubstr("the record of why is damaged"));
  }
  ASSERT_TRUE(node_->Resume("ward 3").ok());
  Restart();
  EXPECT_FALSE(node_->drained());
}

TEST_F(KeptDrainTest, ADiskThatKeepsNothingIsTold) {
  // A directory cannot be replaced by a file, nor removed while something is in it.
  ASSERT_TRUE(std::filesystem::create_directories(file_ / "full"));
  const absl::Status drained = node_->Drain("new filter", "ward 3");
  EXPECT_THAT(drained.message(), HasSubstr("the node is drained, but a restart would resume it: "));
  EXPECT_TRUE(node_->drained());
  const absl::Status resumed = node_->Resume("ward 3");
  EXPECT_THAT(resumed.message(),
              HasSubstr("the node is resumed, but a restart would drain it again: "));
  EXPECT_FALSE(node_->drained());
  // Said again once the disk is well.
  std::filesystem::remove_all(file_);
  ASSERT_TRUE(node_->Drain("new filter", "ward 3").ok());
  Restart();
  EXPECT_TRUE(node_->drained());
}

}  // namespace
}  // namespace isocenter::node
