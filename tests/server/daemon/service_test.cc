#include "server/daemon/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "kernels/ops/device_lost.h"
#include "tests/contract/messages.h"
#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/http/http_client.h"

namespace isocenter::daemon {
namespace {

using testing::FrameMessage;
using ::testing::HasSubstr;
using testing::HeaderMessage;
using testing::HttpClient;
using testing::SmallHeader;
using ::testing::StartsWith;

int PortOf(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) << address;
  return port;
}

/// A console that writes what a test wants.
class Caller {
 public:
  explicit Caller(const Service& service)
      : channel_(grpc::CreateChannel(service.addresses().grpc, grpc::InsecureChannelCredentials())),
        acquisitions_(v1::AcquisitionService::NewStub(channel_)),
        jobs_(v1::JobService::NewStub(channel_)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }

  /// Sends the first message; the answer says what was accepted.
  v1::Accepted Begin(const v1::AcquireRequest& first) {
    stream_ = acquisitions_->Acquire(&context_);
    EXPECT_TRUE(stream_->Write(first));
    v1::AcquireResponse response;
    EXPECT_TRUE(stream_->Read(&response));
    EXPECT_TRUE(response.has_accepted()) << response.ShortDebugString();
    return response.accepted();
  }
  void Send(int first, int last) {
    for (int i = first; i < last; ++i) EXPECT_TRUE(stream_->Write(FrameMessage(i)));
  }
  void AwaitAcknowledgement(uint32_t frame_index) {
    v1::AcquireResponse response;
    while (stream_->Read(&response)) {
      if (response.acknowledgement().frame_index() >= frame_index) return;
    }
    ADD_FAILURE() << "frame " << frame_index << " was not acknowledged";
  }
  void Finish() { EXPECT_TRUE(stream_->Write(testing::FinishMessage())); }
  grpc::Status End() {
    v1::AcquireResponse response;
    while (stream_->Read(&response)) {
    }
    return stream_->Finish();
  }
  v1::JobState StateOf(const std::string& id) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::Job job;
    EXPECT_TRUE(jobs_->GetJob(&context, request, &job).ok());
    return job.state();
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AcquisitionService::Stub> acquisitions_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AcquireRequest, v1::AcquireResponse>> stream_;
};

/// Each test has an archive of its own and free ports of the loopback interface.
class ServiceTest : public ::testing::Test {
 protected:
  using Values = std::map<std::string, std::string>;

  /// With these flags in place of, or besides, those of all tests.
  Configuration Read(Values values, const std::vector<std::string>& switches) {
    values.merge(Values{{"--archive", (directory_.path() / "archive").string()},
                        {"--spool", (directory_.path() / "spool").string()},
                        {"--grpc_address", "127.0.0.1:0"},
                        {"--metrics_address", "127.0.0.1:0"},
                        {"--web_address", "127.0.0.1:0"},
                        {"--dicom_port", "0"},
                        {"--backend", "cpu"},
                        {"--threads", "1"},
                        {"--memory_bytes", "256MB"},
                        {"--drain_seconds", "0.2"}});
    std::vector<const char*> arguments = {"isocenterd"};
    for (const auto& [flag, value] : values) {
      arguments.insert(arguments.end(), {flag.c_str(), value.c_str()});
    }
    for (const std::string& flag : switches) arguments.push_back(flag.c_str());
    Flags flags;
    EXPECT_FALSE(Parse(static_cast<int>(arguments.size()), arguments.data(), flags).has_value());
    auto configuration = ReadConfiguration(flags);
    EXPECT_TRUE(configuration.ok()) << configuration.status();
    return *std::move(configuration);
  }
  absl::StatusOr<std::unique_ptr<Service>> Start(const Values& values = {},
                                                 const std::vector<std::string>& switches = {}) {
    return Service::Start(Read(values, switches), [this] { no_device_left_.Notify(); });
  }

  testing::TemporaryDirectory directory_;
  absl::Notification no_device_left_;
};

TEST_F(ServiceTest, EveryEndpointAnswers) {
  auto service = Start();
  ASSERT_TRUE(service.ok()) << service.status();
  const Addresses& at = (*service)->addresses();
  for (const std::string* address : {&at.grpc, &at.metrics, &at.web}) {
    EXPECT_THAT(*address, StartsWith("127.0.0.1:"));
  }
  (*service)->CheckLocks();

  Caller console(**service);
  const std::string id = console.Begin(HeaderMessage(SmallHeader())).job_id();
  console.Send(0, 40);
  console.Finish();
  const grpc::Status ended = console.End();
  EXPECT_TRUE(ended.ok()) << ended.error_message();
  EXPECT_EQ(console.StateOf(id), v1::JOB_STATE_COMPLETED);

  EXPECT_EQ(HttpClient(PortOf(at.web)).Get("/readyz").status, 200);
  EXPECT_EQ(std::system(absl::StrCat("echoscu 127.0.0.1 ", PortOf(at.dicom)).c_str()), 0);
  const std::string metrics = HttpClient(PortOf(at.metrics)).Get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("isocenter_received_frames_total 40"));
  EXPECT_THAT(metrics, HasSubstr("operation=\"echo\",outcome=\"success\"} 1"));
  EXPECT_TRUE((*service)->Drain().ok());
}

TEST_F(ServiceTest, WhatIsActiveGoesOnWithTheNextStart) {
  std::string id;
  {
    auto service = Start();
    ASSERT_TRUE(service.ok()) << service.status();
    Caller console(**service);
    id = console.Begin(HeaderMessage(SmallHeader())).job_id();
    console.Send(0, 10);
    console.AwaitAcknowledgement(9);
    EXPECT_TRUE((*service)->Drain().ok());
    EXPECT_FALSE(console.End().ok());
  }
  auto service = Start();
  ASSERT_TRUE(service.ok()) << service.status();
  Caller console(**service);
  EXPECT_EQ(console.Begin(testing::ResumeMessage(id)).next_frame_index(), 10u);
  console.Send(10, 40);
  console.Finish();
  const grpc::Status ended = console.End();
  EXPECT_TRUE(ended.ok()) << ended.error_message();
  EXPECT_EQ(console.StateOf(id), v1::JOB_STATE_COMPLETED);
}

TEST_F(ServiceTest, WhatIsNotWantedIsOff) {
  auto service = Start({}, {"--no_web", "--no_dicom"});
  ASSERT_TRUE(service.ok()) << service.status();
  EXPECT_EQ((*service)->addresses().web, "off");
  EXPECT_EQ((*service)->addresses().dicom, "off");
  EXPECT_TRUE((*service)->Drain().ok());
}

// Wherever the start fails, it lets go of all that it has taken.
TEST_F(ServiceTest, AStartThatFailsLeavesNothingBehind) {
  testing::TemporaryDirectory other;
  auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  const Addresses taken = (*first)->addresses();
  const Values elsewhere = {{"--archive", (other.path() / "archive").string()},
                            {"--spool", (other.path() / "spool").string()}};
  for (const auto& [flag, address] :
       {std::pair("--grpc_address", taken.grpc), std::pair("--metrics_address", taken.metrics),
        std::pair("--web_address", taken.web)}) {
    Values values = elsewhere;
    values[flag] = address;
    EXPECT_EQ(Start(values).status().code(), absl::StatusCode::kUnavailable) << flag;
  }
  const auto second = Start(elsewhere);
  EXPECT_TRUE(second.ok()) << second.status();
}

TEST_F(ServiceTest, WithoutADeviceNothingIsWaitedFor) {
  auto service = Start({{"--fault", "cpu0@0"}, {"--drain_seconds", "3600"}});
  ASSERT_TRUE(service.ok()) << service.status();
  EXPECT_FALSE((*service)->no_device_left());
  Caller console(**service);
  console.Begin(HeaderMessage(SmallHeader()));
  console.Send(0, 40);
  no_device_left_.WaitForNotification();
  EXPECT_TRUE((*service)->no_device_left());
  EXPECT_TRUE(ops::IsDeviceLost((*service)->Drain()));
}

}  // namespace
}  // namespace isocenter::daemon
