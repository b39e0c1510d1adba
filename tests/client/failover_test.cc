// An acquisition whose node dies, at every moment of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/acquisition_stream.h"
#include "kernels/base/status_macros.h"
#include "tests/client/two_nodes.h"

namespace isocenter::client {
namespace {

using client_test::TwoNodes;
using testing::HasSubstr;

constexpr int kFrames = 20;

/// A console with its scan, at its first node.
struct Console {
  explicit Console(TwoNodes& nodes, AcquisitionStreamOptions options = {}) {
    header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
    header.mutable_detector()->set_columns(4);
    header.mutable_detector()->set_rows(2);
    header.set_frame_count(kFrames);
    if (options.failover_after == AcquisitionStreamOptions().failover_after) {
      options.failover_after = absl::Milliseconds(300);
    }
    options.on_acknowledged = [this](uint32_t index) {
      absl::MutexLock lock(&mutex);
      told.push_back(index);
    };
    options.on_moved = [this](const std::string& node) {
      absl::MutexLock lock(&mutex);
      moves.push_back(node);
    };
    auto opened = AcquisitionStream::Open(*ServiceChannel::Open({.address = nodes.address()}),
                                          header, std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.status();
    stream = *std::move(opened);
  }

  absl::StatusOr<v1::JobResult> SendAll() {
    for (uint32_t i = 0; i < kFrames; ++i) {
      ISO_RETURN_IF_ERROR(stream->SendFrame(i, std::vector<std::byte>(16, std::byte(i))));
    }
    return stream->Finish();
  }

  v1::AcquisitionHeader header;
  absl::Mutex mutex;
  std::vector<uint32_t> told;
  std::vector<std::string> moves;
  std::unique_ptr<AcquisitionStream> stream;
};

struct Death {
  const char* name;
  void (*plan)(TwoNodes::Node&);
};

class NodeDies : public testing::TestWithParam<Death> {};

TEST_P(NodeDies, TheOtherOneGetsAllOfItUnderTheSameId) {
  TwoNodes nodes;
  nodes.Change("a", GetParam().plan);
  Console console(nodes);
  EXPECT_EQ(console.stream->accepted().node(), "a");
  const absl::Time begin = absl::Now();
  const auto result = console.SendAll();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
  EXPECT_EQ(result->job_id(), "job-of-a");
  EXPECT_EQ(console.stream->node(), "b");
  EXPECT_EQ(nodes.Get("b").held.at("job-of-a").size(), kFrames);
  EXPECT_EQ(console.stream->acknowledged_frames(), kFrames);
  console.stream.reset();
  EXPECT_THAT(console.moves, testing::ElementsAre("b"));
  const std::set<uint32_t> once(console.told.begin(), console.told.end());
  EXPECT_EQ(console.told.size(), kFrames) << "a frame was told twice, or never";
  EXPECT_EQ(once.size(), kFrames);
}

INSTANTIATE_TEST_SUITE_P(
    AcquisitionStream, NodeDies,
    testing::Values(Death{"AtTheFirstFrame", [](TwoNodes::Node& a) { a.dies_at_frame = 0; }},
                    Death{"InTheMiddle", [](TwoNodes::Node& a) { a.dies_at_frame = 11; }},
                    Death{"AtTheLastFrame", [](TwoNodes::Node& a) { a.dies_at_frame = 19; }},
                    Death{"AfterFinish", [](TwoNodes::Node& a) { a.dies_after_finish = true; }},
                    Death{"Silently", [](TwoNodes::Node& a) { a.falls_silent_at_frame = 9; }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Failover, ANodeThatComesBackInTimeKeepsTheScan) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 5; });
  Console console(nodes, {.failover_after = absl::Seconds(20)});
  std::thread restart([&] {
    while (!nodes.Get("a").away) absl::SleepFor(absl::Milliseconds(5));
    nodes.Change("a", [](TwoNodes::Node& a) {
      a.away = false;
      a.dies_at_frame = -1;
    });
  });
  const auto result = console.SendAll();
  restart.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(console.stream->node(), "a");
  EXPECT_TRUE(nodes.Get("b").held.empty());
}

TEST(Failover, ABusyNodeThatAnswersIsNotLeft) {
  TwoNodes nodes;
  Console console(nodes);
  ASSERT_TRUE(console.stream->SendFrame(0, std::vector<std::byte>(16)).ok());
  absl::SleepFor(absl::Seconds(1));  // the console has nothing to send: three times failover_after
  ASSERT_TRUE(console.SendAll().ok());
  EXPECT_EQ(console.stream->node(), "a");
  EXPECT_EQ(console.stream->reconnects(), 0);
}

TEST(Failover, ANodeThatDoesNotTakeItIsNoEndAndTheFirstIsFoundAgain) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 5; });
  nodes.Change("b", [](TwoNodes::Node& b) { b.refuses = true; });
  Console console(nodes);
  std::thread restart([&] {
    while (!nodes.Get("a").away) absl::SleepFor(absl::Milliseconds(5));
    absl::SleepFor(absl::Seconds(2));
    nodes.Change("a", [](TwoNodes::Node& a) {
      a.away = false;
      a.dies_at_frame = -1;
    });
  });
  const auto result = console.SendAll();
  restart.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(console.stream->node(), "a");
  EXPECT_EQ(nodes.Get("a").held.at("job-of-a").size(), kFrames);
}

TEST(Failover, ANodeThatComesBackWithoutItsDiskIsLeft) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 5; });
  Console console(nodes);
  std::thread restart([&] {
    while (!nodes.Get("a").away) absl::SleepFor(absl::Milliseconds(5));
    nodes.Change("a", [](TwoNodes::Node& a) { a = {}; });
  });
  const auto result = console.SendAll();
  restart.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->job_id(), "job-of-a");
  EXPECT_EQ(console.stream->node(), "b");
  EXPECT_EQ(nodes.Get("b").held.at("job-of-a").size(), kFrames);
}

// Which nodes there are is asked of any of them, just as one of them is gone.
TEST(Failover, TheOthersAreKnownAlsoWhenTheFirstQuestionFails) {
  TwoNodes nodes;
  nodes.RefuseLists(1);
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 11; });
  Console console(nodes);
  const auto result = console.SendAll();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(console.stream->node(), "b");
  EXPECT_EQ(nodes.Get("b").held.at("job-of-a").size(), kFrames);
}

TEST(Failover, BothDieOneAfterTheOther) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 12; });
  nodes.Change("b", [](TwoNodes::Node& b) { b.dies_at_frame = 7; });
  Console console(nodes);
  std::thread restart([&] {
    while (!nodes.Get("b").away) absl::SleepFor(absl::Milliseconds(5));
    nodes.Change("a", [](TwoNodes::Node& a) {
      a.away = false;
      a.dies_at_frame = -1;
    });
  });
  const auto result = console.SendAll();
  restart.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(console.stream->node(), "a");
  EXPECT_EQ(nodes.Get("a").held.at("job-of-a").size(), kFrames);
}

TEST(Failover, TheNodeThatWasLeftIsToldWhenItCanBe) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 5; });
  Console console(nodes);
  for (uint32_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(console.stream->SendFrame(i, std::vector<std::byte>(16, std::byte(i))).ok());
  }
  while (console.stream->node() != "b") absl::SleepFor(absl::Milliseconds(20));
  nodes.Change("a", [](TwoNodes::Node& a) { a.away = false; });
  ASSERT_TRUE(console.stream->Finish().ok());
  console.stream.reset();
  EXPECT_EQ(nodes.Get("a").cancelled.count("job-of-a"), 1u);
  EXPECT_TRUE(nodes.Get("b").cancelled.empty());
}

TEST(Failover, ANodeThatHangsWhenItIsAskedHoldsNothingUp) {
  TwoNodes nodes;
  nodes.Change("b", [](TwoNodes::Node& b) { b.hangs_when_asked = true; });
  const absl::Time began = absl::Now();
  Console console(nodes);
  EXPECT_LT(absl::Now() - began, absl::Seconds(3));  // 30 are allowed for an admission
  EXPECT_TRUE(console.SendAll().ok());
}

TEST(Failover, ANodeThatHangsWhenItIsToBeginIsPassedBy) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.hangs_when_begun = true; });
  const absl::Time began = absl::Now();
  Console console(nodes);
  EXPECT_LT(absl::Now() - began, absl::Seconds(12));
  EXPECT_EQ(console.stream->node(), "b");
  EXPECT_TRUE(console.SendAll().ok());
  EXPECT_EQ(nodes.Get("b").held.at("job-of-b").size(), kFrames);
}

TEST(Failover, ANodeThatHangsWhenItIsToGoOnIsPassedByAndToldSo) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 5; });
  nodes.Change("b", [](TwoNodes::Node& b) { b.hangs_when_begun = true; });
  Console console(nodes);
  std::thread restart([&] {
    while (!nodes.Get("a").away) absl::SleepFor(absl::Milliseconds(5));
    absl::SleepFor(absl::Seconds(1));
    nodes.Change("a", [](TwoNodes::Node& a) {
      a.away = false;
      a.dies_at_frame = -1;
    });
  });
  const absl::Time began = absl::Now();
  const auto result = console.SendAll();
  restart.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(absl::Now() - began, absl::Seconds(15));
  EXPECT_EQ(console.stream->node(), "a");
  console.stream.reset();
  // It may have taken the job when nobody waited for that any more.
  EXPECT_EQ(nodes.Get("b").cancelled.count("job-of-a"), 1u);
  EXPECT_TRUE(nodes.Get("a").cancelled.empty());
}

TEST(Failover, ANodeThatSaysNothingIsNotGoneTo) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 5; });
  nodes.Change("b", [](TwoNodes::Node& b) { b.hangs_when_asked = b.hangs_when_begun = true; });
  Console console(nodes);
  std::thread restart([&] {
    while (!nodes.Get("a").away) absl::SleepFor(absl::Milliseconds(5));
    absl::SleepFor(absl::Seconds(1));
    nodes.Change("a", [](TwoNodes::Node& a) {
      a.away = false;
      a.dies_at_frame = -1;
    });
  });
  const absl::Time began = absl::Now();
  const auto result = console.SendAll();
  restart.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(absl::Now() - began, absl::Seconds(4));  // which one that said it would has
  EXPECT_EQ(console.stream->node(), "a");
  EXPECT_TRUE(nodes.Get("b").cancelled.empty());
}

TEST(Failover, FramesThatWereNotKeptStayWithTheirNode) {
  TwoNodes nodes;
  nodes.Change("a", [](TwoNodes::Node& a) { a.dies_at_frame = 15; });
  Console console(nodes, {.max_frames_in_flight = 1,
                          .reconnect_timeout = absl::Seconds(2),
                          .failover_after = absl::Milliseconds(100),
                          .max_kept_bytes = 100});
  const absl::Status status = console.SendAll().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot go to another node"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than 100 bytes"));
  EXPECT_TRUE(nodes.Get("b").held.empty());
}

}  // namespace
}  // namespace isocenter::client
