// Openings that break before the server's answer.
#include "client/opening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stop_token>

#include "client/acquisition_stream.h"
#include "client/rpc_status.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/client/fake_server.h"

namespace isocenter::client {
namespace {

using client_test::Behaviour;
using client_test::FakeServer;
using ::testing::HasSubstr;

v1::AcquisitionHeader Header(const std::string& request_id) {
  v1::AcquisitionHeader header;
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.mutable_detector()->set_columns(4);
  header.mutable_detector()->set_rows(2);
  header.set_frame_count(10);
  header.mutable_patient_study()->set_patient_id("P1");
  header.set_request_id(request_id);
  return header;
}

absl::StatusOr<std::unique_ptr<AcquisitionStream>> Open(const FakeServer& server,
                                                        const v1::AcquisitionHeader& header,
                                                        AcquisitionStreamOptions options = {}) {
  return AcquisitionStream::Open(*ServiceChannel::Open({.address = server.address()}), header,
                                 std::move(options));
}

absl::StatusOr<v1::JobResult> SendAll(AcquisitionStream& stream) {
  for (int i = 0; i < 10; ++i) {
    const absl::Status sent = stream.SendFrame(i, std::vector<std::byte>(16, std::byte(i)));
    if (!sent.ok()) return sent;
  }
  return stream.Finish();
}

const grpc::Status kBroken(grpc::StatusCode::UNAVAILABLE, "Socket closed");

class BrokenOpening : public ::testing::TestWithParam<const char*> {};

TEST_P(BrokenOpening, IsRepeatedAndThereIsOneJob) {
  Behaviour behaviour;
  behaviour.break_openings = 3;
  behaviour.break_status = kBroken;
  FakeServer server(behaviour);
  std::vector<std::string> interruptions;
  auto stream = Open(server, Header(GetParam()), {.on_interrupted = [&](const absl::Status& why) {
                       interruptions.emplace_back(why.message());
                     }});
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE(SendAll(**stream).ok());
  EXPECT_EQ(server.openings(), 4);
  EXPECT_EQ(server.acquisitions(), 1);
  EXPECT_THAT(interruptions, ::testing::SizeIs(3));
  EXPECT_THAT(interruptions.front(), HasSubstr("the connection to the server broke"));
  EXPECT_FALSE(server.header().request_id().empty());
}

INSTANTIATE_TEST_SUITE_P(RequestIds, BrokenOpening, ::testing::Values("room-1.7", ""));

TEST(OpeningTest, AResumptionIsRepeatedAndProvesWhatItSends) {
  Behaviour behaviour;
  behaviour.refuse_resumes = {kBroken, kBroken};
  FakeServer server(behaviour);
  const v1::AcquisitionHeader header = Header("room-1.7");
  { ASSERT_TRUE(Open(server, header).ok()); }
  auto stream = AcquisitionStream::Resume(*ServiceChannel::Open({.address = server.address()}),
                                          header, "job-1");
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(server.resumes(), 3);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(server.resumed_with(), header));
  EXPECT_TRUE(SendAll(**stream).ok());
}

TEST(OpeningTest, WhatTakesABrokenStreamUpAgainHasTheHeader) {
  Behaviour behaviour;
  behaviour.break_at_frames = {4};
  FakeServer server(behaviour);
  const v1::AcquisitionHeader header = Header("room-1.7");
  auto stream = Open(server, header);
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE(SendAll(**stream).ok());
  EXPECT_EQ(server.resumes(), 1);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(server.resumed_with(), header));
}

class RefusedOpening : public ::testing::TestWithParam<grpc::Status> {};

TEST_P(RefusedOpening, IsFinal) {
  Behaviour behaviour;
  behaviour.refuse = GetParam();
  FakeServer server(behaviour);
  const absl::Status status = Open(server, Header("")).status();
  EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(GetParam().error_code()));
  EXPECT_EQ(status.message(), GetParam().error_message());
  EXPECT_EQ(server.openings(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, RefusedOpening,
    ::testing::Values(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "frame_count is 0"),
                      grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "the role is viewer"),
                      grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "the token is not known"),
                      grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "there is one"),
                      grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "needs 9 GiB"),
                      grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                   "the node is drained; use another one")));

// Else it would begin at a node that nothing could be sent past when it dies.
TEST(OpeningTest, NothingBeginsBeforeTheNodesAreKnown) {
  Behaviour behaviour;
  behaviour.refuse_lists = {{grpc::StatusCode::UNAVAILABLE, "http2 header with status: 503"},
                            {grpc::StatusCode::UNAVAILABLE, "Socket closed"},
                            {grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"},
                            {grpc::StatusCode::UNAVAILABLE, "the service is shutting down"}};
  FakeServer server(behaviour);
  std::vector<std::string> interruptions;
  const auto stream = Open(server, Header(""), {.on_interrupted = [&](const absl::Status& why) {
                             interruptions.emplace_back(why.message());
                           }});
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE(SendAll(**stream).ok());
  EXPECT_EQ(server.openings(), 1);
  EXPECT_THAT(interruptions,
              ::testing::ElementsAre("the proxy has no server for the call; try again",
                                     HasSubstr("the connection to the server broke"),
                                     HasSubstr("has not answered in time"),
                                     "the service is shutting down"));
}

TEST(OpeningTest, AQuestionForTheNodesThatIsRefusedIsNoEnd) {
  Behaviour behaviour;
  behaviour.refuse_lists = {{grpc::StatusCode::PERMISSION_DENIED, "the role is console"}};
  FakeServer server(behaviour);
  const auto stream = Open(server, Header(""), {});
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(server.openings(), 1);
}

TEST(OpeningTest, WithoutReconnectingABreakIsTheError) {
  Behaviour behaviour;
  behaviour.break_openings = 1;
  behaviour.break_status = kBroken;
  FakeServer server(behaviour);
  EXPECT_EQ(Open(server, Header(""), {.reconnect_timeout = absl::ZeroDuration()}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(server.openings(), 1);
}

// ---- Stopped -----------------------------------------------------------------------------------

// What an opening may last otherwise, and what it may last here on a machine that is busy.
constexpr absl::Duration kLong = absl::Seconds(120);
constexpr absl::Duration kSoon = absl::Seconds(20);

AcquisitionStreamOptions LongUnless(const std::stop_source& stop) {
  return {.admission_timeout = kLong, .reconnect_timeout = kLong, .stop = stop.get_token()};
}

TEST(StoppedOpening, EndsWhileTheServerDoesNotAnswer) {
  std::stop_source stop;
  Behaviour behaviour;
  behaviour.never_answer = true;
  behaviour.before_answer = [&] { stop.request_stop(); };
  FakeServer server(behaviour);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(Open(server, Header(""), LongUnless(stop)).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_LT(absl::Now() - begin, kSoon);
}

TEST(StoppedOpening, EndsBetweenAttempts) {
  std::stop_source stop;
  Behaviour behaviour;
  behaviour.break_openings = 1000;
  behaviour.break_status = kBroken;
  FakeServer server(behaviour);
  AcquisitionStreamOptions options = LongUnless(stop);
  options.on_interrupted = [&](const absl::Status&) {
    server.Stop();  // so that there is no connection to wait for
    stop.request_stop();
  };
  const absl::Time begin = absl::Now();
  EXPECT_EQ(Open(server, Header(""), std::move(options)).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_LT(absl::Now() - begin, kSoon);
  EXPECT_EQ(server.openings(), 1);
}

TEST(StoppedOpening, SendsNothingAfterwards) {
  std::stop_source stop;
  stop.request_stop();
  FakeServer server;
  EXPECT_EQ(Open(server, Header(""), LongUnless(stop)).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(server.openings(), 0);
}

TEST(StoppedOpening, AnAnswerOnItsWayIsTaken) {
  std::stop_source stop;
  Behaviour behaviour;
  behaviour.before_answer = [&] { stop.request_stop(); };
  FakeServer server(behaviour);
  const auto stream = Open(server, Header(""), LongUnless(stop));
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ((*stream)->accepted().job_id(), "job-1");
}

TEST(OpeningTest, RequestIdsAreLegalAndDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) ids.insert(NewRequestId());
  EXPECT_EQ(ids.size(), 100u);
  for (const std::string& id : ids) {
    EXPECT_LE(id.size(), 64u);
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
  }
}

// ---- When it is repeated -----------------------------------------------------------------------

absl::Status Unavailable(const std::string& text) {
  const grpc::ClientContext call;
  return FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, text), call);
}

const absl::Time kBegin = absl::UnixEpoch();
constexpr char kFailed[] = "failed to connect to all addresses; last error: ";

TEST(OpeningTest, WhereNobodyListensTheErrorComesAtOnce) {
  for (const char* why : {"Connection refused", "SSL: certificate verify failed: handshake failed",
                          "Peer name a is not in peer certificate"}) {
    Opening opening(absl::Seconds(120));
    const absl::Status status = Unavailable(absl::StrCat(kFailed, why));
    EXPECT_EQ(opening.MayRepeat(status, kBegin), status) << why;
  }
  Opening opening(absl::Seconds(120));
  EXPECT_FALSE(opening.MayRepeat(Unavailable("DNS resolution failed for x"), kBegin).ok());
  // A proxy that has no server for the call says so itself.
  EXPECT_FALSE(
      opening.MayRepeat(Unavailable("Received http2 header with status: 503"), kBegin).ok());
  EXPECT_TRUE(
      opening.MayRepeat(Unavailable("Received http2 header with status: 502"), kBegin).ok());
}

TEST(OpeningTest, AConnectionThatNeverStandsIsTriedForThreeSeconds) {
  Opening opening(absl::Seconds(120));
  const absl::Status cut = Unavailable(absl::StrCat(kFailed, "Socket closed"));
  EXPECT_TRUE(opening.MayRepeat(cut, kBegin).ok());
  EXPECT_EQ(opening.Left(kBegin), absl::Seconds(3));
  EXPECT_TRUE(opening.MayRepeat(cut, kBegin + absl::Seconds(2)).ok());
  EXPECT_EQ(opening.MayRepeat(cut, kBegin + absl::Seconds(3)), cut);
}

TEST(OpeningTest, OneThatStoodIsTriedForTheWholeOutage) {
  Opening opening(absl::Seconds(120));
  EXPECT_TRUE(opening.MayRepeat(Unavailable("Connection reset by peer"), kBegin).ok());
  // The server starts again, and says so once it listens.
  EXPECT_TRUE(opening
                  .MayRepeat(Unavailable(absl::StrCat(kFailed, "Connection refused")),
                             kBegin + absl::Seconds(30))
                  .ok());
  EXPECT_TRUE(
      opening.MayRepeat(Unavailable("the service is shutting down"), kBegin + absl::Seconds(60))
          .ok());
  EXPECT_EQ(opening.Left(kBegin + absl::Seconds(60)), absl::Seconds(60));
  EXPECT_THAT(
      std::string(
          opening.MayRepeat(Unavailable("Socket closed"), kBegin + absl::Seconds(120)).message()),
      HasSubstr("no new connection within 2m"));
}

}  // namespace
}  // namespace isocenter::client
