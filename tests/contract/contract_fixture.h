// A gRPC server with fakes behind it, and a console that says what a test wants.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "isocenter/v1/protocols.grpc.pb.h"
#include "server/config/protocol_book.h"
#include "server/config/server_config.h"
#include "server/node/node.h"
#include "server/roles/roster.h"
#include "server/rpc/server.h"
#include "server/rpc/translation/translate_header.h"
#include "server/rpc/translation/translate_refinement.h"
#include "tests/contract/messages.h"
#include "tests/server/fakes/service_under_test.h"

namespace isocenter::testing {

/// What came back from one Acquire call.
struct Answer {
  grpc::Status status;
  std::vector<v1::AcquireResponse> responses;

  const v1::Accepted* accepted() const {
    for (const auto& response : responses) {
      if (response.has_accepted()) return &response.accepted();
    }
    return nullptr;
  }
  const v1::JobResult* result() const {
    for (const auto& response : responses) {
      if (response.has_result()) return &response.result();
    }
    return nullptr;
  }
};

/// What a call that has ended tells beside its status; nothing where it has no such key.
inline std::optional<std::string> TrailerOf(const grpc::ClientContext& call,
                                            const std::string& key) {
  const auto& trailers = call.GetServerTrailingMetadata();
  const auto found = trailers.find(key);
  if (found == trailers.end()) return std::nullopt;
  return std::string(found->second.data(), found->second.size());
}

/// Each test has a server of its own on a free port of the loopback interface.
class ContractTest : public ::testing::Test {
 protected:
  using AcquireStream = grpc::ClientReaderWriter<v1::AcquireRequest, v1::AcquireResponse>;

  /// `change` edits the configuration before the start.
  void StartServer(const std::function<void(v1::ServerConfig&)>& change = nullptr) {
    v1::ServerConfig config;
    config::ApplyDefaults(config);
    config.set_grpc_address("127.0.0.1:0");
    if (change) change(config);
    protocols_ = *config::ProtocolBook::Make(config);
    node_ = std::make_unique<node::Node>(
        node::NodeOptions{.version = "1.2.3",
                          .backend = "reference",
                          .max_active_jobs = service_.options.max_active_jobs,
                          .spool = [] { return node::SpoolState{.disk_free_bytes = 1}; },
                          .name = "recon1",
                          .peers = [this] { return peers_; },
                          .access = [this] { return access_; }},
        *service_.engine, *service_.scheduler, *service_.table);
    partners_.node = node_.get();
    partners_.roster = roster_.get();
    auto server = rpc::Server::Start(config, protocols_, *service_.table, *service_.engine,
                                     service_.results, service_.observer, partners_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    Connect(grpc::InsecureChannelCredentials());
  }
  void SetUp() override { StartServer(); }
  /// Ends the server and the engine and starts them with what is on disk, as a new process would.
  void RestartService(const std::function<void(v1::ServerConfig&)>& change = nullptr) {
    server_.reset();
    service_.Restart();
    StartServer(change);
  }
  /// The service with another reconnect limit.
  void SetReconnectLimit(absl::Duration limit) {
    service_.options.engine.reconnect_limit = limit;
    RestartService();
  }

  void Connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(server_->address(), credentials, arguments);
    acquisitions_ = v1::AcquisitionService::NewStub(channel_);
    jobs_ = v1::JobService::NewStub(channel_);
    protocol_stub_ = v1::ProtocolService::NewStub(channel_);
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }

  void SignIn(grpc::ClientContext& context) const {
    if (!authorization_.empty()) context.AddMetadata("authorization", authorization_);
  }

  /// Sends the messages, closes the sending side, reads to the end. A server that refuses early
  /// ends the sending; that is no failure here.
  Answer Acquire(const std::vector<v1::AcquireRequest>& messages) {
    grpc::ClientContext context;
    SetDeadline(context);
    SignIn(context);
    const auto stream = acquisitions_->Acquire(&context);
    for (const v1::AcquireRequest& message : messages) {
      if (!stream->Write(message)) break;
    }
    stream->WritesDone();
    Answer answer;
    v1::AcquireResponse response;
    while (stream->Read(&response)) answer.responses.push_back(response);
    answer.status = stream->Finish();
    return answer;
  }

  /// A call that is under way.
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<AcquireStream> stream;
    std::string job_id;
    uint32_t next_frame_index = 0;

    bool Write(int first, int last) {
      for (int i = first; i < last; ++i) {
        if (!stream->Write(FrameMessage(i))) return false;
      }
      return true;
    }
    /// Reads until it is so; false at the end of the stream.
    bool ReadUntil(const std::function<bool(const v1::AcquireResponse&)>& wanted) {
      v1::AcquireResponse response;
      while (stream->Read(&response)) {
        if (wanted(response)) return true;
      }
      return false;
    }
    bool ReadAcknowledgement(uint32_t frame_index) {
      return ReadUntil([&](const v1::AcquireResponse& response) {
        return response.has_acknowledgement() && response.acknowledgement().has_frame_index() &&
               response.acknowledgement().frame_index() == frame_index;
      });
    }
    /// What is left to read, and the status.
    Answer End() {
      Answer answer;
      v1::AcquireResponse response;
      while (stream->Read(&response)) answer.responses.push_back(response);
      answer.status = stream->Finish();
      return answer;
    }
    /// As when the connection breaks.
    void Break() {
      context.TryCancel();
      End();
    }
  };
  /// Sends a first message and waits until it is accepted.
  std::unique_ptr<Call> Begin(const v1::AcquireRequest& first = HeaderMessage(SmallHeader())) {
    auto call = std::make_unique<Call>();
    SetDeadline(call->context);
    SignIn(call->context);
    call->stream = acquisitions_->Acquire(&call->context);
    EXPECT_TRUE(call->stream->Write(first));
    v1::AcquireResponse response;
    EXPECT_TRUE(call->stream->Read(&response));
    EXPECT_TRUE(response.has_accepted()) << response.ShortDebugString();
    call->job_id = response.accepted().job_id();
    call->next_frame_index = response.accepted().next_frame_index();
    return call;
  }
  std::unique_ptr<Call> Resume(const std::string& job_id) { return Begin(ResumeMessage(job_id)); }

  v1::JobState StateOf(const std::string& id) { return GetJob(id).state(); }
  bool Ends(const std::string& id) {
    return Eventually([&] { return jobs::HasEnded((*service_.table->Get(id))->state); });
  }

  /// The refusal of a header that a test has spoiled.
  grpc::Status Refusal(const std::function<void(v1::AcquisitionHeader&)>& spoil) {
    v1::AcquisitionHeader header = SmallHeader();
    spoil(header);
    const Answer answer = Acquire({HeaderMessage(header)});
    EXPECT_EQ(answer.accepted(), nullptr) << "the header was accepted";
    return answer.status;
  }

  v1::Job GetJob(const std::string& id) {
    grpc::ClientContext context;
    SetDeadline(context);
    SignIn(context);
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::Job job;
    EXPECT_TRUE(jobs_->GetJob(&context, request, &job).ok());
    return job;
  }

  static PipelineOptions WithDecoders() {
    PipelineOptions options;
    options.engine.decoders = {.add_calibration = rpc::AddCalibration,
                               .acquisition = rpc::TranslateRecord,
                               .refinement = rpc::TranslateRefinementRecord};
    return options;
  }

  PipelineUnderTest service_{WithDecoders()};
  rpc::Partners partners_;  // what a test adds counts from the next start
  config::ProtocolBook protocols_;
  std::unique_ptr<roles::Roster> roster_;  // null: whoever reaches the server may
  std::string authorization_;              // of acquisitions and GetJob; empty: none is sent
  std::vector<node::Peer> peers_;          // that the node knows
  node::Access access_;                    // that the node tells of
  std::unique_ptr<node::Node> node_;
  std::unique_ptr<rpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AcquisitionService::Stub> acquisitions_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::ProtocolService::Stub> protocol_stub_;
};

/// A status with this code whose message has all these parts.
MATCHER_P2(Refused, code, parts, "") {
  *result_listener << arg.error_code() << ": " << arg.error_message();
  if (arg.error_code() != code) return false;
  for (const char* part : std::vector<const char*>(parts)) {
    if (arg.error_message().find(part) == std::string::npos) return false;
  }
  return true;
}
inline auto Invalid(std::vector<const char*> parts) {
  return Refused(grpc::StatusCode::INVALID_ARGUMENT, parts);
}

}  // namespace isocenter::testing
