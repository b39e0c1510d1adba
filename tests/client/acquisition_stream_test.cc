#include "client/acquisition_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>
#include <stdexcept>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/reconnect.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/geometry.h"
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

/// Of a source 700 mm from the isocentre.
const ProjectionMatrix kMatrix{{1000, 0, 2, 3, 0, 1000, 1, 4, 0, 0, 1, 700}};

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
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE((*stream)
                    ->SendFrame(i, Pixels(i), i == 3 ? std::optional(kMatrix) : std::nullopt,
                                i == 4 ? 1.25F : 0)
                    .ok());
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
    EXPECT_EQ(frames[i].dose(), i == 4 ? 1.25F : 0);
  }
  EXPECT_EQ(frames[3].measured_matrix().value(11), 700);
}

/// Sends 20 frames, of which none is acknowledged before `go_on`. A frame beyond the third that did
/// not wait would be through before an acknowledgement can have come over the network.
void SendThroughAWindowOfThree(AcquisitionStream& stream, absl::Notification& go_on) {
  for (int i = 0; i < 20; ++i) {
    if (i == 3) {
      EXPECT_EQ(stream.acknowledged_frames(), 0);
      go_on.Notify();
    }
    EXPECT_TRUE(stream.SendFrame(i, Pixels(i)).ok());
    EXPECT_LE(i + 1 - stream.acknowledged_frames(), 3) << "frame " << i << " did not wait";
  }
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
  SendThroughAWindowOfThree(**stream, go_on);
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

TEST(AcquisitionStream, TextsThatAreNotUtf8AreRefusedBeforeTheNetwork) {
  FakeServer server;
  v1::AcquisitionHeader header = Header(2);
  header.mutable_patient_study()->set_patient_name("M\xfcller");
  const ServiceChannel channel = *ServiceChannel::Open({.address = server.address()});
  const std::string wrong =
      "patient_study.patient_name is 'M\\xfcller', which is not UTF-8: byte 0xFC at offset 1; "
      "legal is UTF-8";
  for (const absl::Status& status :
       {AcquisitionStream::Open(channel, header).status(),
        AcquisitionStream::Resume(channel, header, "job-1").status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), wrong);
  }
  EXPECT_EQ(server.openings(), 0);
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
  auto stream =
      Open(server, 100, {.max_frames_in_flight = 2, .reconnect_timeout = absl::Milliseconds(200)});
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

/// Sends all frames but those in `skipped`, in order, and finishes.
absl::StatusOr<v1::JobResult> SendAll(AcquisitionStream& stream, int frames,
                                      const std::set<int>& skipped = {}) {
  for (int i = 0; i < frames; ++i) {
    if (skipped.count(i) == 0) ISO_RETURN_IF_ERROR(stream.SendFrame(i, Pixels(i)));
  }
  return stream.Finish();
}

/// Indices that the server took over, each once and with its own pixels, in any order.
std::set<uint32_t> Held(const FakeServer& server) {
  std::set<uint32_t> indices;
  for (const v1::Frame& frame : server.frames()) {
    indices.insert(frame.index());
    EXPECT_EQ(frame.pixels(), std::string(16, static_cast<char>(frame.index())));
  }
  return indices;
}

class BrokenStream : public testing::TestWithParam<grpc::StatusCode> {};

TEST_P(BrokenStream, GoesOnAndLosesNothing) {
  Behaviour behaviour;
  behaviour.break_at_frames = {0, 5, 5, 30};
  behaviour.breaks_after_finish = 1;
  behaviour.break_status = {GetParam(), "broken"};
  FakeServer server(behaviour);
  std::atomic<int> acknowledged = 0;
  std::vector<std::string> interruptions;  // of the stream's thread, until its end
  auto stream =
      Open(server, 50,
           {.max_frames_in_flight = 8,
            .on_acknowledged = [&](uint32_t) { ++acknowledged; },
            .on_interrupted =
                [&](const absl::Status& why) { interruptions.emplace_back(why.message()); }});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const absl::StatusOr<v1::JobResult> result = SendAll(**stream, 50);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->job_id(), "job-1");
  EXPECT_EQ((*stream)->reconnects(), 5);
  EXPECT_EQ((*stream)->acknowledged_frames(), 50);
  EXPECT_EQ(acknowledged, 50);
  EXPECT_EQ(interruptions, std::vector<std::string>(5, "broken"));
  EXPECT_EQ(Held(server).size(), 50u);
}

INSTANTIATE_TEST_SUITE_P(Codes, BrokenStream,
                         testing::Values(grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::CANCELLED,
                                         grpc::StatusCode::INTERNAL, grpc::StatusCode::UNKNOWN,
                                         grpc::StatusCode::DATA_LOSS));

class FinalError : public testing::TestWithParam<grpc::StatusCode> {};

TEST_P(FinalError, EndsTheAcquisition) {
  Behaviour behaviour;
  behaviour.break_at_frames = {3};
  behaviour.break_status = {GetParam(), "no more"};
  FakeServer server(behaviour);
  auto stream = Open(server, 20);
  ASSERT_TRUE(stream.ok()) << stream.status();
  const absl::Status status = SendAll(**stream, 20).status();
  EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(GetParam()));
  EXPECT_EQ(server.resumes(), 0);
}

INSTANTIATE_TEST_SUITE_P(Codes, FinalError,
                         testing::Values(grpc::StatusCode::ABORTED,
                                         grpc::StatusCode::INVALID_ARGUMENT,
                                         grpc::StatusCode::FAILED_PRECONDITION,
                                         grpc::StatusCode::RESOURCE_EXHAUSTED,
                                         grpc::StatusCode::DEADLINE_EXCEEDED));

TEST(AcquisitionStream, AServerThatIsBusyRestartingIsWaitedFor) {
  Behaviour behaviour;
  behaviour.break_at_frames = {4};
  const grpc::Status away(grpc::StatusCode::UNAVAILABLE, "starting");
  behaviour.refuse_resumes = {away, away, away, away};
  FakeServer server(behaviour);
  auto stream = Open(server, 10);
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE(SendAll(**stream, 10).ok());
  EXPECT_EQ(server.resumes(), 5);
  EXPECT_EQ((*stream)->reconnects(), 1);
}

TEST(AcquisitionStream, AServerThatComesBackAtItsAddressIsFoundAgain) {
  FakeServer server;
  auto stream = Open(server, 30, {.max_frames_in_flight = 4});
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*stream)->SendFrame(i, Pixels(i)).ok());
  server.Stop();
  std::thread starter([&] {
    absl::SleepFor(absl::Milliseconds(500));
    server.Start();
  });
  const absl::StatusOr<v1::JobResult> result = SendAll(**stream, 30);
  starter.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*stream)->reconnects(), 1);
  EXPECT_EQ(Held(server).size(), 30u);
}

TEST(AcquisitionStream, TheOutageHasABound) {
  Behaviour behaviour;
  behaviour.break_at_frames = {4};
  behaviour.refuse_resumes.assign(1000, {grpc::StatusCode::UNAVAILABLE, "starting"});
  FakeServer server(behaviour);
  auto stream = Open(server, 10, {.reconnect_timeout = absl::Seconds(2)});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const absl::Time begin = absl::Now();
  const absl::Status status = SendAll(**stream, 10).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no new connection within 2s"));
  EXPECT_GE(absl::Now() - begin, absl::Seconds(2));
  EXPECT_GE(server.resumes(), 2);
}

TEST(AcquisitionStream, AJobThatTheServerForgotIsSaidToBe) {
  Behaviour behaviour;
  behaviour.break_at_frames = {4};
  behaviour.refuse_resumes = {{grpc::StatusCode::NOT_FOUND, "there is no job 'job-1'"}};
  FakeServer server(behaviour);
  auto stream = Open(server, 10);
  ASSERT_TRUE(stream.ok()) << stream.status();
  const absl::Status status = SendAll(**stream, 10).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not know job job-1 any more"));
}

TEST(AcquisitionStream, WhatBrokeAJobIsSaidWhenItCannotBeTakenUp) {
  Behaviour behaviour;
  behaviour.break_at_frames = {4};
  behaviour.break_status = {grpc::StatusCode::CANCELLED, "the job was cancelled on request"};
  behaviour.refuse_resumes = {{grpc::StatusCode::FAILED_PRECONDITION, "job job-1 has ended"}};
  FakeServer server(behaviour);
  auto stream = Open(server, 10);
  ASSERT_TRUE(stream.ok()) << stream.status();
  const absl::Status status = SendAll(**stream, 10).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has ended"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cancelled on request"));
}

TEST(AcquisitionStream, AnAcknowledgedFrameThatTheServerLostIsDataLoss) {
  Behaviour behaviour;
  behaviour.break_at_frames = {4};
  behaviour.forgets_frames = true;
  FakeServer server(behaviour);
  // Waits for each acknowledgement, so that frame 0 has its own before the break.
  auto stream = Open(server, 10, {.max_frames_in_flight = 1});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const absl::Status status = SendAll(**stream, 10).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("frame 0 of job job-1"));
}

TEST(AcquisitionStream, FramesThatNeverComeDoNotCloseTheWindow) {
  Behaviour behaviour;
  behaviour.break_at_frames = {40};
  FakeServer server(behaviour);
  auto stream = Open(server, 60, {.max_frames_in_flight = 3});
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE(SendAll(**stream, 60, {0, 10, 11, 41}).ok());
  EXPECT_EQ(Held(server).size(), 56u);
  EXPECT_EQ((*stream)->acknowledged_frames(), 56);
}

TEST(AcquisitionStream, FramesMayComeInAnyOrderAndAreSentOnce) {
  FakeServer server;
  auto stream = Open(server, 20, {.max_frames_in_flight = 4});
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (int i = 19; i >= 0; --i) {
    ASSERT_TRUE((*stream)->SendFrame(i, Pixels(i)).ok());
    ASSERT_TRUE((*stream)->SendFrame(i, Pixels(i)).ok());
  }
  EXPECT_TRUE((*stream)->Finish().ok());
  EXPECT_EQ(server.frames_read(), 20);
  EXPECT_EQ(Held(server).size(), 20u);
}

TEST(AcquisitionStream, TheWindowIsBoundedInBytes) {
  absl::Notification go_on;
  Behaviour behaviour;
  behaviour.before_acknowledge = [&](int64_t) { go_on.WaitForNotification(); };
  FakeServer server(behaviour);
  auto stream = Open(server, 20, {.max_bytes_in_flight = 100});  // a message has 27 or so
  ASSERT_TRUE(stream.ok());
  SendThroughAWindowOfThree(**stream, go_on);
  EXPECT_TRUE((*stream)->Finish().ok());
}

TEST(AcquisitionStream, FramesThatDoNotFitTheHeaderAreRefused) {
  FakeServer server;
  auto stream = Open(server, 20);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream)->SendFrame(20, Pixels(1)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT((*stream)->SendFrame(0, std::vector<std::byte>(32)).message(),
              HasSubstr("frame.pixels of frame 0 has 32 bytes; legal is 16 (2 rows of 4 columns of "
                        "2 bytes); pixels of 4 bytes, e.g. float32, would have as many"));
  EXPECT_EQ((*stream)->SendFrame(0, std::vector<std::byte>(15)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(AcquisitionStream, AFrameThatTellsWhatNoneMayIsNotSent) {
  FakeServer server;
  auto stream = Open(server, 2);
  ASSERT_TRUE(stream.ok());
  const auto said = [&](const std::optional<ProjectionMatrix>& measured, float dose,
                        std::optional<float> phase) {
    const absl::Status status = (*stream)->SendFrame(0, Pixels(1), measured, dose, phase);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(said({}, NAN, {}), HasSubstr("the dose of frame 0 is nan; legal is 0.001 to 1000"));
  EXPECT_THAT(said({}, -1, {}), HasSubstr("the dose of frame 0 is -1"));
  EXPECT_THAT(said({}, 0, 1.0F), HasSubstr("the phase of frame 0 is 1"));
  ProjectionMatrix behind = kMatrix;
  behind.m[11] = 0;
  EXPECT_THAT(said(behind, 0, {}), HasSubstr("the measured matrix of frame 0: "));
  EXPECT_EQ(server.frames_read(), 0);
  ASSERT_TRUE(SendAll(**stream, 2).ok());
  EXPECT_TRUE((*stream)->Finish().ok());
}

TEST(AcquisitionStream, WhatACallbackThrowsEndsTheAcquisitionAndNotTheConsole) {
  FakeServer server;
  auto stream = Open(server, 4, {.on_acknowledged = [](uint32_t index) {
                       if (index == 1) throw std::runtime_error("the screen is gone");
                     }});
  ASSERT_TRUE(stream.ok());
  for (int i = 0; i < 4; ++i) {
    if (!(*stream)->SendFrame(i, Pixels(i)).ok()) break;
  }
  const absl::Status ended = (*stream)->Finish().status();
  EXPECT_EQ(ended, absl::UnknownError("on_acknowledged threw: the screen is gone"));
}

TEST(AcquisitionStream, ACallbackCannotWaitForItself) {
  FakeServer server;
  AcquisitionStream* itself = nullptr;
  absl::Notification known;
  absl::Status sent, finished;
  auto stream = Open(server, 2, {.on_acknowledged = [&](uint32_t index) {
                       known.WaitForNotification();
                       if (index != 0) return;
                       sent = itself->SendFrame(1, Pixels(1));
                       finished = itself->Finish().status();
                     }});
  ASSERT_TRUE(stream.ok());
  itself = stream->get();
  known.Notify();
  ASSERT_TRUE(SendAll(**stream, 2).ok());
  ASSERT_TRUE((*stream)->Finish().ok());
  EXPECT_EQ(sent.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(finished.message()), HasSubstr("Finish was called from a function of"));
}

// It was replaced, of which the job warned: the scan has not failed.
TEST(AcquisitionStream, AFrameAfterTheResultIsNoError) {
  Behaviour behaviour;
  behaviour.result_at_frame = 2;
  FakeServer server(behaviour);
  auto stream = Open(server, 4);
  ASSERT_TRUE(stream.ok());
  for (const int index : {0, 1, 2}) ASSERT_TRUE((*stream)->SendFrame(index, Pixels(1)).ok());
  const absl::StatusOr<v1::JobResult> result = (*stream)->Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE((*stream)->SendFrame(3, Pixels(1)).ok());
}

TEST(AcquisitionStream, WarningsAndPreviewsReachTheConsole) {
  Behaviour behaviour;
  behaviour.warns = true;
  FakeServer server(behaviour);
  std::atomic<int> warnings = 0, previews = 0;
  auto stream =
      Open(server, 4,
           {.on_warning =
                [&](const v1::JobWarning& warning) { warnings += warning.text().empty() ? 0 : 1; },
            .on_preview = [&](const v1::Preview& p) { previews += p.plane_size(); }});
  ASSERT_TRUE(stream.ok());
  ASSERT_TRUE(SendAll(**stream, 4).ok());
  EXPECT_EQ(warnings, 4);
  EXPECT_EQ(previews, 12);
}

TEST(AcquisitionStream, AnotherProcessGoesOnWithTheJob) {
  FakeServer server;
  {
    auto first = Open(server, 10, {.max_frames_in_flight = 1});
    ASSERT_TRUE(first.ok());
    for (int i = 0; i < 6; ++i) ASSERT_TRUE((*first)->SendFrame(i, Pixels(i)).ok());
  }
  const ServiceChannel channel = *ServiceChannel::Open({.address = server.address()});
  auto second = AcquisitionStream::Resume(channel, Header(10), "job-1");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GE((*second)->accepted().next_frame_index(), 5u);
  EXPECT_TRUE(SendAll(**second, 10).ok());
  EXPECT_EQ(Held(server).size(), 10u);
  EXPECT_LE(server.frames_read(), 11);
  EXPECT_EQ(AcquisitionStream::Resume(channel, Header(10), "none").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(AcquisitionStream, CancelEndsAnOutage) {
  Behaviour behaviour;
  behaviour.break_at_frames = {0};
  behaviour.refuse_resumes.assign(1000, {grpc::StatusCode::UNAVAILABLE, "starting"});
  FakeServer server(behaviour);
  auto stream = Open(server, 10);
  ASSERT_TRUE(stream.ok());
  std::thread canceller([&] {
    while (server.resumes() < 2) absl::SleepFor(absl::Milliseconds(5));
    (*stream)->Cancel();
  });
  EXPECT_EQ(SendAll(**stream, 10).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
}

TEST(Reconnect, PausesGrowWithinBounds) {
  Reconnect reconnect(absl::Seconds(120));
  absl::Duration longest = absl::Milliseconds(50);
  for (int i = 0; i < 10; ++i) {
    const absl::Duration pause = reconnect.Pause();
    EXPECT_GE(pause, longest / 2);
    EXPECT_LE(pause, longest);
    longest = std::min(2 * longest, absl::Seconds(2));
  }
}

TEST(Reconnect, AnOutageEndsWhenACallMovesOn) {
  Reconnect reconnect(absl::Seconds(10));
  const absl::Status broken = absl::UnavailableError("reset");
  const absl::Time begin = absl::UnixEpoch();
  EXPECT_TRUE(reconnect.MayTryAgain(broken, true, begin).ok());
  EXPECT_TRUE(reconnect.MayTryAgain(broken, false, begin + absl::Seconds(9)).ok());
  EXPECT_TRUE(reconnect.MayTryAgain(broken, true, begin + absl::Seconds(11)).ok());
  EXPECT_TRUE(reconnect.MayTryAgain(broken, false, begin + absl::Seconds(20)).ok());
  EXPECT_FALSE(reconnect.MayTryAgain(broken, false, begin + absl::Seconds(21)).ok());
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
