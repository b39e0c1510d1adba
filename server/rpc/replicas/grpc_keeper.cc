#include "server/rpc/replicas/grpc_keeper.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "isocenter/v1/replicas.grpc.pb.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/geometry.h"
#include "server/rpc/peers/peer_channel.h"

namespace isocenter::rpc {
namespace {

constexpr int kHttp2FrameBytes = 1 << 20;

absl::Status FromGrpc(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

void Fill(const replicas::Origin& origin, v1::ReplicaOrigin& message) {
  message.set_node(origin.node);
  message.set_spool_id(origin.spool_id);
}

class GrpcReplicaStream : public replicas::ReplicaStream {
 public:
  explicit GrpcReplicaStream(v1::ReplicaService::Stub& stub) : stream_(stub.KeepReplica(&call_)) {}

  absl::StatusOr<std::vector<bool>> Begin(const replicas::ReplicaHeader& header) override {
    v1::KeepReplicaRequest request;
    v1::ReplicaHeader& told = *request.mutable_header();
    Fill(header.origin, *told.mutable_origin());
    told.set_job_id(header.job_id);
    told.set_frames(static_cast<uint32_t>(header.frames));
    told.set_frame_bytes(static_cast<uint64_t>(header.frame_bytes));
    told.set_acquisition(header.acquisition);
    told.set_begun_by(header.begun_by);
    (void)stream_->Write(request);  // Await says why it could not
    ISO_ASSIGN_OR_RETURN(const v1::KeepReplicaResponse answer, Await());
    if (!answer.has_begun()) return Unexpected();
    std::vector<bool> has(header.frames, false);
    for (const v1::FrameRange& range : answer.begun().present()) {
      if (range.first() > range.last() || range.last() >= has.size()) return Unexpected();
      std::fill(has.begin() + range.first(), has.begin() + range.last() + 1, true);
    }
    return has;
  }

  absl::Status SendFrame(int index, std::string pixels,
                         const jobs::FrameMeasurement& measurement) override {
    v1::KeepReplicaRequest request;
    v1::Frame& frame = *request.mutable_frame();
    frame.set_index(static_cast<uint32_t>(index));
    frame.set_crc32c(Crc32c(std::as_bytes(std::span(pixels))));
    frame.set_has_checksum(true);
    frame.set_pixels(std::move(pixels));
    if (measurement.matrix) *frame.mutable_measured_matrix() = wire::ToProto(*measurement.matrix);
    frame.set_dose(measurement.dose);
    if (measurement.phase) frame.set_phase(*measurement.phase);
    return Send(request);
  }

  absl::Status SendGap(int index) override {
    v1::KeepReplicaRequest request;
    request.mutable_gap()->set_index(static_cast<uint32_t>(index));
    return Send(request);
  }

  absl::Status SendFinish() override {
    v1::KeepReplicaRequest request;
    request.mutable_finish();
    return Send(request);
  }

  absl::StatusOr<int> AwaitKept() override {
    ISO_ASSIGN_OR_RETURN(const v1::KeepReplicaResponse answer, Await());
    if (!answer.has_kept()) return Unexpected();
    return static_cast<int>(answer.kept().index());
  }

  void Cancel() override { call_.TryCancel(); }

 private:
  static absl::Status Unexpected() {
    return absl::InternalError("its answer is not one that this version knows");
  }

  absl::Status Send(const v1::KeepReplicaRequest& request) {
    if (stream_->Write(request)) return absl::OkStatus();
    return absl::UnavailableError("the stream to it has ended");
  }

  absl::StatusOr<v1::KeepReplicaResponse> Await() {
    v1::KeepReplicaResponse answer;
    if (stream_->Read(&answer)) return answer;
    const absl::Status ended = FromGrpc(stream_->Finish());
    return ended.ok() ? absl::UnavailableError("it has ended the stream") : ended;
  }

  grpc::ClientContext call_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::KeepReplicaRequest, v1::KeepReplicaResponse>>
      stream_;
};

class GrpcKeeper : public replicas::Keeper {
 public:
  explicit GrpcKeeper(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::ReplicaService::NewStub(channel)) {}

  std::unique_ptr<replicas::ReplicaStream> Open() override {
    return std::make_unique<GrpcReplicaStream>(*stub_);
  }

  absl::Status Report(const replicas::Origin& origin,
                      const std::vector<std::string>& jobs) override {
    constexpr std::chrono::seconds kPatience(2);
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::ReportOriginRequest request;
    Fill(origin, *request.mutable_origin());
    for (const std::string& id : jobs) request.add_job_id(id);
    v1::ReportOriginResponse response;
    return FromGrpc(stub_->ReportOrigin(&call, request, &response));
  }

 private:
  const std::unique_ptr<v1::ReplicaService::Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<replicas::Keeper>> OpenKeeper(
    const v1::ReplicaKeeperConfig& config) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  ISO_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                       OpenPeerChannel({.field = "cluster.replication.keeper",
                                        .address = config.address(),
                                        .ca_file = config.ca_file(),
                                        .certificate_file = config.certificate_file(),
                                        .private_key_file = config.private_key_file()},
                                       std::move(arguments)));
  return std::make_unique<GrpcKeeper>(channel);
}

}  // namespace isocenter::rpc
