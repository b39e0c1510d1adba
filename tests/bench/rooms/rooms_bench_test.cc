#include "tests/bench/rooms/rooms_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/fake_server.h"

namespace isocenter::bench {
namespace {

using client_test::Behaviour;
using client_test::FakeServer;
using testing::HasSubstr;

RoomsOptions SmallRooms(const FakeServer& server) {
  RoomsOptions options;
  options.server.address = server.address();
  options.rooms = 3;
  options.fps = 200;
  options.frames = 20;
  options.columns = 8;
  options.rows = 4;
  options.batch = 2;
  return options;
}

TEST(Rooms, CountsWhatTheConsolesMeet) {
  FakeServer server;
  const absl::StatusOr<RoomsReport> report = MeasureRooms(SmallRooms(server));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->frames_lost(), 0);
  const ClassFigures& live = report->classes.at("live");
  const ClassFigures& batch = report->classes.at("batch");
  EXPECT_EQ(live.completed, 3);
  EXPECT_EQ(live.frames_sent, 60);
  EXPECT_EQ(live.bytes_sent, 60 * 64);
  EXPECT_EQ(batch.completed, 2);
  EXPECT_EQ(batch.frames_sent, 40);
  EXPECT_FALSE(live.acknowledge.empty());
  EXPECT_FALSE(live.volume.empty());
  EXPECT_TRUE(live.found.empty());
  EXPECT_GE(report->seconds, 19 / 200.0);
  EXPECT_THAT(report->errors, testing::IsEmpty());
}

TEST(Rooms, BrokenStreamsLoseNothing) {
  Behaviour behaviour;
  behaviour.break_at_frames = {3, 7};
  FakeServer server(behaviour);
  const absl::StatusOr<RoomsReport> report = MeasureRooms(SmallRooms(server));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->frames_lost(), 0);
  EXPECT_EQ(report->classes.at("live").reconnects + report->classes.at("batch").reconnects, 2);
}

TEST(Rooms, IngestOnlyCancelsTheJobs) {
  FakeServer server;
  RoomsOptions options = SmallRooms(server);
  options.wait_results = false;
  const absl::StatusOr<RoomsReport> report = MeasureRooms(options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->frames_lost(), 0);
  EXPECT_EQ(report->classes.at("live").completed, 3);
  EXPECT_TRUE(report->classes.at("live").stored.empty());
}

TEST(Rooms, LostFramesAreAnError) {
  Behaviour behaviour;
  behaviour.fail_at_frame = 9;
  behaviour.failure = {grpc::StatusCode::FAILED_PRECONDITION, "gone"};
  FakeServer server(behaviour);
  const absl::Status status = RunRooms(SmallRooms(server));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST(Rooms, RefusedConsolesAreCounted) {
  Behaviour behaviour;
  behaviour.refuse = {grpc::StatusCode::RESOURCE_EXHAUSTED, "full"};
  FakeServer server(behaviour);
  const absl::StatusOr<RoomsReport> report = MeasureRooms(SmallRooms(server));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->classes.at("live").refused, 3);
  EXPECT_EQ(report->frames_lost(), 0);
  ASSERT_FALSE(report->errors.empty());
  EXPECT_THAT(report->errors[0], HasSubstr("full"));
  EXPECT_FALSE(RunRooms(SmallRooms(server)).ok());
}

TEST(Distribution, PercentilesAreNearestRanks) {
  Distribution values;
  for (int i = 100; i >= 1; --i) values.Add(i);
  EXPECT_EQ(values.Percentile(50), 50);
  EXPECT_EQ(values.Percentile(99), 99);
  EXPECT_EQ(values.Percentile(100), 100);
  values.Add(1000);
  EXPECT_EQ(values.Percentile(100), 1000);
}

TEST(MetricsProbe, FindsTheResidentMemory) {
  const absl::StatusOr<int64_t> bytes = ResidentBytesOf(
      "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 1.5e+06\n");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, 1500000);
  EXPECT_FALSE(ResidentBytesOf("").ok());
  EXPECT_EQ(ReadResidentBytes("nowhere").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PacsProbe, MalformedPeersAreRefused) {
  EXPECT_EQ(PacsProbe::Open("host,AET").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::bench
