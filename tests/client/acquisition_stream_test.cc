#include "client/acquisition_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/client/fake_server.h"

namespace isocenter::client {
namespace {

using client_test::Behaviour;
using client_test::FakeServer;
using testing::HasSubstr;

v1::AcquisitionHeader Header(int frames) {
  v1::AcquisitionHeader header;
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.mutable_detector()->set_columns(4);
  header.mutable_detector()->set_rows(2);
  header.set_frame_count(frames);
  header.set_station_name("room-1");
  return header;
}

std::vector<std::byte> Pixels(int value) { return std::vector<std::byte>(16, std::byte(value)); }

absl::StatusOr<std::unique_ptr<AcquisitionStream>> Open(const FakeServer& server, int frames,
                                                        AcquisitionStreamOptions options = {}) {
  return AcquisitionStream::Open(*ServiceChannel::Open({.address = server.address()}),
                                 Header(frames), std::move(options));
}

TEST(AcquisitionStream, SendsFramesWithChecksumsAndReturnsTheResult) {
  FakeServer server;
  std::atomic<int> progress = 0;
  auto stream = Open(server, 10, {.on_progress = [&](const v1::JobProgress&) { ++progress; }});
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ((*stream)->accepted().job_id(), "job-1");
  const ProjectionMatrix measured{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(
        (*stream)->SendFrame(i, Pixels(i), i == 3 ? std::optional(measured) : std::nullopt).ok());
  }
  const absl::StatusOr<v1::JobResult> result = (*stream)->Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->series_instance_uid(), "1.2.3");
  EXPECT_EQ((*stream)->acknowledged_frames(), 10);
  EXPECT_EQ(progress, 10);
  EXPECT_EQ(server.header().station_name(), "room-1");
  const std::vector<v1::Frame> frames = server.frames();
  ASSERT_EQ(frames.size(), 10u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(frames[i].index(), static_cast<uint32_t>(i));
    EXPECT_TRUE(frames[i].has_checksum());
    EXPECT_EQ(frames[i].pixels(), std::string(16, static_cast<char>(i)));
    EXPECT_EQ(frames[i].has_measured_matrix(), i == 3);
  }
  EXPECT_EQ(frames[3].measured_matrix().value(11), 12);
}

TEST(AcquisitionStream, WaitsWhenTheWindowOfUnacknowledgedFramesIsFull) {
  absl::Notification go_on;
  Behaviour behaviour;
  behaviour.before_acknowledge = [&](int64_t frame) {
    if (frame == 0) go_on.WaitForNotification();
  };
  FakeServer server(behaviour);
  auto stream = Open(server, 20, {.max_frames_in_flight = 3});
  ASSERT_TRUE(stream.ok());
  std::atomic<int> sent = 0;
  std::thread sender([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE((*stream)->SendFrame(i, Pixels(i)).ok());
      ++sent;
    }
  });
  // Nothing to wait for proves that nothing more comes; a broken window would be through at once.
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(sent, 3);
  go_on.Notify();
  sender.join();
  EXPECT_TRUE((*stream)->Finish().ok());
  EXPECT_EQ(server.frames_read(), 20);
}

TEST(AcquisitionStream, RefusalOfTheHeaderIsTheErrorOfOpen) {
  Behaviour behaviour;
  behaviour.refuse = {grpc::StatusCode::RESOURCE_EXHAUSTED, "needs 9 GiB, 4 are free"};
  FakeServer server(behaviour);
  const absl::Status status = Open(server, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "needs 9 GiB, 4 are free");
}

TEST(AcquisitionStream, IllegalHeadersAreRefusedBeforeTheNetwork) {
  FakeServer server;
  EXPECT_EQ(Open(server, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Open(server, 10001).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(AcquisitionStream, AServerThatDoesNotAnswerEndsOpenAtTheDeadline) {
  Behaviour behaviour;
  behaviour.never_answer = true;
  FakeServer server(behaviour);
  EXPECT_EQ(Open(server, 2, {.admission_timeout = absl::Milliseconds(100)}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(AcquisitionStream, AnErrorInTheMiddleReachesSendFrameAndFinish) {
  Behaviour behaviour;
  behaviour.fail_at_frame = 4;
  behaviour.failure = {grpc::StatusCode::DATA_LOSS, "frame 4 is damaged"};
  FakeServer server(behaviour);
  auto stream = Open(server, 1000, {.max_frames_in_flight = 8});
  ASSERT_TRUE(stream.ok());
  absl::Status status;
  int sent = 0;
  while (status.ok() && sent < 1000) status = (*stream)->SendFrame(sent++, Pixels(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "frame 4 is damaged");
  EXPECT_LE(sent, 14);  // 4 acknowledged, 8 in flight, the one that fails, and one of slack
  EXPECT_EQ((*stream)->Finish().status().code(), absl::StatusCode::kDataLoss);
}

TEST(AcquisitionStream, AServerThatGoesAwayUnblocksAWaitingSender) {
  Behaviour behaviour;
  absl::Notification gone;
  behaviour.before_acknowledge = [&](int64_t) { gone.WaitForNotification(); };
  FakeServer server(behaviour);
  auto stream = Open(server, 100, {.max_frames_in_flight = 2});
  ASSERT_TRUE(stream.ok());
  std::thread killer([&] {
    EXPECT_TRUE(server.WaitForFrames(1));
    gone.Notify();
    server.Stop();
  });
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = (*stream)->SendFrame(i, Pixels(i));
  if (status.ok()) status = (*stream)->Finish().status();
  killer.join();
  EXPECT_FALSE(status.ok());
}

TEST(AcquisitionStream, CancelUnblocksTheSender) {
  Behaviour behaviour;
  absl::Notification test_ends;
  behaviour.before_acknowledge = [&](int64_t) { test_ends.WaitForNotification(); };
  FakeServer server(behaviour);
  auto stream = Open(server, 100, {.max_frames_in_flight = 1});
  ASSERT_TRUE(stream.ok());
  std::thread canceller([&] {
    EXPECT_TRUE(server.WaitForFrames(1));
    (*stream)->Cancel();
  });
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = (*stream)->SendFrame(i, Pixels(i));
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  test_ends.Notify();
  canceller.join();
}

TEST(AcquisitionStream, NoServerIsUnavailableAndSaysWhatToCheck) {
  std::string address;
  {
    FakeServer server;
    address = server.address();
  }
  const absl::Status status =
      AcquisitionStream::Open(*ServiceChannel::Open({.address = address}), Header(2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("isocenterd"));
}

TEST(AcquisitionStream, AnEndWithoutResultIsAnError) {
  Behaviour behaviour;
  behaviour.no_result = true;
  FakeServer server(behaviour);
  auto stream = Open(server, 1);
  ASSERT_TRUE(stream.ok());
  ASSERT_TRUE((*stream)->SendFrame(0, Pixels(0)).ok());
  EXPECT_EQ((*stream)->Finish().status().code(), absl::StatusCode::kInternal);
}

TEST(ServiceChannel, IncompleteCredentialsAreRefused) {
  EXPECT_EQ(ServiceChannel::Open({.ca_file = "/nonexistent.pem"}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ServiceChannel::Open({.certificate_file = "c.pem"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      ServiceChannel::Open({.certificate_file = "c", .private_key_file = "k"}).status().code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::client
