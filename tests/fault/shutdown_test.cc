// Ends of the real server: drained, killed, misconfigured.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "tests/contract/messages.h"
#include "tests/fault/daemon.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

class ShutdownTest : public ::testing::Test {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::AcquireRequest, v1::AcquireResponse>;

  /// A server and an acquisition of which `frames` frames have been acknowledged.
  void Begin(int frames, const std::vector<std::string>& flags = {}) {
    daemon_ = std::make_unique<Daemon>(directory_.path().string(), flags);
    ASSERT_NE(daemon_->grpc_port(), 0);
    channel_ = grpc::CreateChannel(daemon_->grpc_address(), grpc::InsecureChannelCredentials());
    stub_ = v1::AcquisitionService::NewStub(channel_);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(240));
    stream_ = stub_->Acquire(&context_);
    ASSERT_TRUE(stream_->Write(HeaderMessage(SmallHeader())));
    ASSERT_TRUE(stream_->Read(&response_));
    job_id_ = response_.accepted().job_id();
    for (int i = 0; i < frames; ++i) ASSERT_TRUE(stream_->Write(FrameMessage(i)));
    while (frames > 0 && stream_->Read(&response_)) {
      if (response_.acknowledgement().frame_index() + 1 == static_cast<uint32_t>(frames)) break;
    }
  }

  v1::Job JobAfterRestart() {
    daemon_ = std::make_unique<Daemon>(directory_.path().string());
    EXPECT_NE(daemon_->grpc_port(), 0);
    channel_ = grpc::CreateChannel(daemon_->grpc_address(), grpc::InsecureChannelCredentials());
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_job_id(job_id_);
    v1::Job job;
    EXPECT_TRUE(v1::JobService::NewStub(channel_)->GetJob(&context, request, &job).ok());
    return job;
  }

  /// A new stream takes up the job at frame `next` and sends the rest.
  void ResumeAndComplete(int next) {
    stub_ = v1::AcquisitionService::NewStub(channel_);
    grpc::ClientContext context;
    const auto stream = stub_->Acquire(&context);
    v1::AcquireRequest resume;
    resume.mutable_resume()->set_job_id(job_id_);
    ASSERT_TRUE(stream->Write(resume));
    ASSERT_TRUE(stream->Read(&response_));
    EXPECT_EQ(response_.accepted().next_frame_index(), static_cast<uint32_t>(next));
    for (int i = next; i < 40; ++i) ASSERT_TRUE(stream->Write(FrameMessage(i)));
    ASSERT_TRUE(stream->Write(FinishMessage()));
    bool result = false;
    while (stream->Read(&response_)) result = result || response_.has_result();
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_TRUE(result);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Daemon> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AcquisitionService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  v1::AcquireResponse response_;
  std::string job_id_;
};

TEST_F(ShutdownTest, WhatWasAcceptedIsFinishedBeforeTheExit) {
  Begin(10);
  daemon_->Signal(SIGTERM);
  // A new acquisition is refused; the server says so as soon as it has seen the signal.
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  grpc::StatusCode refusal = grpc::StatusCode::OK;
  while (refusal != grpc::StatusCode::UNAVAILABLE && absl::Now() < give_up) {
    grpc::ClientContext context;
    const auto second = stub_->Acquire(&context);
    second->Write(HeaderMessage(SmallHeader()));
    v1::AcquireResponse response;
    if (second->Read(&response)) context.TryCancel();
    refusal = second->Finish().error_code();
  }
  EXPECT_EQ(refusal, grpc::StatusCode::UNAVAILABLE);
  for (int i = 10; i < 40; ++i) ASSERT_TRUE(stream_->Write(FrameMessage(i)));
  ASSERT_TRUE(stream_->Write(FinishMessage()));
  bool result = false;
  while (stream_->Read(&response_)) result = result || response_.has_result();
  EXPECT_TRUE(stream_->Finish().ok());
  EXPECT_TRUE(result);
  EXPECT_EQ(daemon_->Wait(), 0);
  const v1::Job job = JobAfterRestart();
  EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(job.result().instance_count(), 33u);  // slices and the multi-frame object
}

TEST_F(ShutdownTest, AfterTheDrainTimeTheRestIsSuspended) {
  Begin(10, {"--drain_seconds=0.5"});
  const absl::Time begin = absl::Now();
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  // Not the minute that is the default.
  EXPECT_LT(absl::Now() - begin, absl::Seconds(40));
  while (stream_->Read(&response_)) {
  }
  const grpc::Status status = stream_->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("goes on when it starts again"));
  EXPECT_EQ(JobAfterRestart().state(), v1::JOB_STATE_RECEIVING);
  ResumeAndComplete(10);
}

TEST_F(ShutdownTest, AKilledServerGoesOnWithItsJobsAtTheNextStart) {
  Begin(10);
  daemon_->Signal(SIGKILL);
  EXPECT_EQ(daemon_->Wait(), -SIGKILL);
  EXPECT_EQ(JobAfterRestart().state(), v1::JOB_STATE_RECEIVING);
  ResumeAndComplete(10);
}

TEST_F(ShutdownTest, ABadConfigurationExitsWith2) {
  for (const char* flag : {"--drain_seconds=-1", "--config=/nowhere/site.txt", "--no_such_flag",
                           "--backend=abacus", "--tls_certificate=/nowhere/a.crt"}) {
    Daemon daemon(directory_.path().string(), {flag});
    EXPECT_EQ(daemon.grpc_port(), 0) << flag;
    EXPECT_EQ(daemon.Wait(), 2) << flag;
  }
}

}  // namespace
}  // namespace isocenter::testing
