#include "tests/bench/rooms/rooms_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bench/rooms/arrivals.h"
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

TEST(Rooms, SendTheSameFramesWhereAsked) {
  for (const bool same : {false, true}) {
    FakeServer server;
    RoomsOptions options = SmallRooms(server);
    options.rooms = 2;
    options.batch = 0;
    options.same_frames = same;
    ASSERT_TRUE(MeasureRooms(options).ok());
    std::set<std::string> different;
    for (const v1::Frame& frame : server.frames()) different.insert(frame.pixels());
    EXPECT_EQ(different.size(), same ? 4U : 8U);
  }
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

class RoomsFiles : public testing::Test {
 protected:
  RoomsFiles() { std::filesystem::create_directories(folder_); }
  ~RoomsFiles() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ / name; }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "isocenter-rooms-bench";
};

TEST_F(RoomsFiles, EachArrivalIsAScanWithALine) {
  FakeServer server;
  RoomsOptions options = SmallRooms(server);
  options.batch = 0;
  options.arrivals = Path("arrivals");
  options.log = Path("log");
  std::ofstream(options.arrivals) << "0.05 2\n0 1\n0.01 2\n";  // the third room does not scan
  const double start = MonotonicSeconds();
  const absl::StatusOr<RoomsReport> report = MeasureRooms(options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->classes.at("live").completed, 3);
  std::map<std::string, std::vector<double>> due;
  std::ifstream log(options.log);
  for (std::string line; std::getline(log, line);) {
    const nlohmann::json scan = nlohmann::json::parse(line);
    EXPECT_EQ(scan["outcome"], "completed");
    EXPECT_EQ(scan["frames_sent"], options.frames);
    EXPECT_EQ(scan["frames_lost"], 0);
    EXPECT_GE(scan["begun"], scan["due"]);
    EXPECT_GE(scan["ended"], scan["last_frame"]);
    EXPECT_NE(scan["job_id"], "");
    due[scan["room"]].push_back(scan["due"].get<double>() - start);
  }
  ASSERT_EQ(due["room-1"].size(), 1U);
  ASSERT_EQ(due["room-2"].size(), 2U);
  EXPECT_NEAR(due["room-2"][1] - due["room-2"][0], 0.04, 1e-9);
}

TEST_F(RoomsFiles, ArrivalsSayWhoScansWhenAndNothingElseDoes) {
  FakeServer server;
  RoomsOptions options = SmallRooms(server);
  options.arrivals = Path("arrivals");
  EXPECT_THAT(MeasureRooms(options).status().message(), HasSubstr("--batch 2"));
  options.batch = 0;
  EXPECT_EQ(MeasureRooms(options).status().code(), absl::StatusCode::kNotFound);
}

TEST(Arrivals, AreOfRoomsAndInOrder) {
  const absl::StatusOr<Arrivals> arrivals = ParseArrivals("3.5 2\n1 2\r\n\n 0\t1 \n", 3);
  ASSERT_TRUE(arrivals.ok()) << arrivals.status();
  EXPECT_THAT(*arrivals, testing::ElementsAre(testing::ElementsAre(0), testing::ElementsAre(1, 3.5),
                                              testing::IsEmpty()));
}

TEST(Arrivals, MalformedOnesAreNamed) {
  for (const char* line : {"1", "1 2 3", "-1 1", "nan 1", "1e8 1", "1 0", "1 4", "1 1.5", "a 1"}) {
    const absl::Status status = ParseArrivals(absl::StrCat("0 1\n", line), 3).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("line 2 of the arrivals is '", line)));
  }
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
