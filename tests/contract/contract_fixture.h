// A gRPC server with fakes behind it, and a console that says what a test wants.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "isocenter/v1/protocols.grpc.pb.h"
#include "kernels/base/crc32c.h"
#include "server/config/protocol_book.h"
#include "server/config/server_config.h"
#include "server/rpc/server.h"
#include "tests/server/fakes/service_under_test.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::testing {

/// The header of test_scan.h's acquisition: 40 views on a circle, float32, 32^3 voxels.
inline v1::AcquisitionHeader SmallHeader() {
  v1::AcquisitionHeader header;
  v1::PatientStudy& study = *header.mutable_patient_study();
  study.set_patient_name("Doe^Jane");
  study.set_patient_id("P1");
  study.set_accession_number("A1");
  header.set_protocol("fdk");
  header.set_station_name("room-1");
  v1::DetectorGeometry& detector = *header.mutable_detector();
  detector.set_columns(36);
  detector.set_rows(28);
  detector.set_pitch_u_mm(8);
  detector.set_pitch_v_mm(8);
  header.set_pixel_type(v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  header.set_frame_count(40);
  v1::CircularTrajectory& circle = *header.mutable_circular();
  circle.set_source_to_isocenter_mm(750);
  circle.set_source_to_detector_mm(1200);
  circle.set_arc_deg(360. * 39 / 40);
  v1::VolumeGrid& grid = *header.mutable_grid();
  grid.set_nx(32);
  grid.set_ny(32);
  grid.set_nz(32);
  grid.set_spacing_x_mm(4);
  grid.set_spacing_y_mm(4);
  grid.set_spacing_z_mm(4);
  grid.set_centered(true);
  return header;
}

/// Replaces the circle of a header by the matrices of the same circle.
inline void ListMatrices(v1::AcquisitionHeader& header) {
  header.mutable_matrices();
  for (const ProjectionMatrix& matrix : SmallRequest().acquisition.trajectory) {
    header.mutable_matrices()->add_matrix()->mutable_value()->Add(matrix.m.begin(),
                                                                  matrix.m.end());
  }
}

inline v1::AcquireRequest HeaderMessage(const v1::AcquisitionHeader& header) {
  v1::AcquireRequest message;
  *message.mutable_header() = header;
  return message;
}

inline v1::AcquireRequest FrameMessage(int index) {
  static const recon::Acquisition acquisition = SmallRequest().acquisition;
  v1::AcquireRequest message;
  v1::Frame& frame = *message.mutable_frame();
  frame.set_index(index);
  frame.set_pixels(SmallFrame(acquisition, index));
  frame.set_crc32c(Crc32c(std::as_bytes(std::span(frame.pixels()))));
  frame.set_has_checksum(true);
  return message;
}

inline v1::AcquireRequest FinishMessage() {
  v1::AcquireRequest message;
  message.mutable_finish();
  return message;
}

/// Header, `frames` frames, finish.
inline std::vector<v1::AcquireRequest> WholeAcquisition(const v1::AcquisitionHeader& header,
                                                        int frames = 40) {
  std::vector<v1::AcquireRequest> messages = {HeaderMessage(header)};
  for (int i = 0; i < frames; ++i) messages.push_back(FrameMessage(i));
  messages.push_back(FinishMessage());
  return messages;
}

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
    auto server = rpc::Server::Start(config, protocols_, service_.table, *service_.engine,
                                     service_.results, service_.observer);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    Connect(grpc::InsecureChannelCredentials());
  }
  void SetUp() override { StartServer(); }

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

  /// Sends the messages, closes the sending side, reads to the end. A server that refuses early
  /// ends the sending; that is no failure here.
  Answer Acquire(const std::vector<v1::AcquireRequest>& messages) {
    grpc::ClientContext context;
    SetDeadline(context);
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
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::Job job;
    EXPECT_TRUE(jobs_->GetJob(&context, request, &job).ok());
    return job;
  }

  PipelineUnderTest service_;
  config::ProtocolBook protocols_;
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
