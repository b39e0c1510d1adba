#include "client/job_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/reconnect.h"
#include "client/rpc_status.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "isocenter/v1/protocols.grpc.pb.h"
#include "isocenter/v1/worklist.grpc.pb.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "proto/wire/geometry.h"

namespace isocenter::client {
namespace {

constexpr absl::Duration kFollowedFor = absl::Minutes(1);  // while the service is out of reach

/// Cuts a stream of bytes into floats; a value may be cut in two by the pieces.
class FloatAssembler {
 public:
  absl::Status Append(absl::string_view data, VolumeSink& sink) {
    bytes_.append(data.data(), data.size());
    values_.resize(bytes_.size() / sizeof(float));
    const size_t whole = values_.size() * sizeof(float);
    if (values_.empty()) return absl::OkStatus();
    std::memcpy(values_.data(), bytes_.data(), whole);
    bytes_.erase(0, whole);
    return sink.OnVoxels(values_);
  }

 private:
  std::string bytes_;
  std::vector<float> values_;
};

bool IsPlainFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && !absl::StrContains(name, "/") &&
         name.find('\0') == std::string::npos;
}

absl::Status ForwardDicom(const v1::DownloadResultResponse& piece, int& files_begun,
                          int& files_ended, DicomSink& sink) {
  if (!piece.file_name().empty()) {
    if (!IsPlainFileName(piece.file_name())) {
      return absl::DataLossError("the server sent a file name that is not a plain one");
    }
    if (files_begun != files_ended) {
      return absl::DataLossError("the server began a file before it ended the last one");
    }
    ++files_begun;
    ISO_RETURN_IF_ERROR(sink.OnFile(piece.file_name()));
  }
  if (files_begun == files_ended && (!piece.data().empty() || piece.end_of_file())) {
    return absl::DataLossError("the server sent data that belong to no file");
  }
  if (!piece.data().empty()) ISO_RETURN_IF_ERROR(sink.OnData(piece.data()));
  if (piece.end_of_file()) {
    ++files_ended;
    ISO_RETURN_IF_ERROR(sink.OnEndOfFile());
  }
  return absl::OkStatus();
}

}  // namespace

struct JobClient::Stubs {
  std::unique_ptr<v1::JobService::Stub> jobs;
  std::unique_ptr<v1::ProtocolService::Stub> protocols;
  std::unique_ptr<v1::WorklistService::Stub> worklist;

  /// Runs a server stream; a consumer's error ends it and wins.
  absl::Status Download(
      const std::string& job_id, v1::ResultFormat format,
      const std::function<absl::Status(const v1::DownloadResultResponse&)>& consume) {
    v1::DownloadResultRequest request;
    request.set_job_id(job_id);
    request.set_format(format);
    absl::Status consumed;
    const absl::Status called = Call(
        [&](grpc::ClientContext& context) {
          auto reader = jobs->DownloadResult(&context, request);
          v1::DownloadResultResponse piece;
          while (consumed.ok() && reader->Read(&piece)) consumed = consume(piece);
          if (!consumed.ok()) context.TryCancel();
          return reader->Finish();
        },
        absl::InfiniteDuration());
    return consumed.ok() ? called : consumed;
  }
};

JobClient::JobClient(const ServiceChannel& channel) : stubs_(std::make_unique<Stubs>()) {
  stubs_->jobs = v1::JobService::NewStub(channel.grpc_channel());
  stubs_->protocols = v1::ProtocolService::NewStub(channel.grpc_channel());
  stubs_->worklist = v1::WorklistService::NewStub(channel.grpc_channel());
}
JobClient::~JobClient() = default;

absl::StatusOr<std::vector<v1::Job>> JobClient::List(v1::ListJobsRequest filter, int limit) const {
  std::vector<v1::Job> jobs;
  filter.clear_page_token();
  do {
    filter.set_page_size(std::clamp(limit - static_cast<int>(jobs.size()), 1, 1000));
    v1::ListJobsResponse response;
    ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
      return stubs_->jobs->ListJobs(&context, filter, &response);
    }));
    for (v1::Job& job : *response.mutable_job()) jobs.push_back(std::move(job));
    filter.set_page_token(response.next_page_token());
  } while (!filter.page_token().empty() && static_cast<int>(jobs.size()) < limit);
  if (static_cast<int>(jobs.size()) > limit) jobs.resize(limit);
  return jobs;
}

absl::StatusOr<v1::Job> JobClient::Get(const std::string& job_id) const {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  ISO_RETURN_IF_ERROR(Call(
      [&](grpc::ClientContext& context) { return stubs_->jobs->GetJob(&context, request, &job); }));
  return job;
}

absl::StatusOr<v1::Job> JobClient::Watch(const std::string& job_id,
                                         const std::function<bool(const v1::Job&)>& on_change,
                                         bool previews) const {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  request.set_previews(previews);
  v1::Job job;
  bool goes_on = true;
  const absl::Status called = Call(
      [&](grpc::ClientContext& context) {
        auto reader = stubs_->jobs->WatchJob(&context, request);
        while (goes_on && reader->Read(&job)) goes_on = on_change(job);
        if (!goes_on) context.TryCancel();
        return reader->Finish();
      },
      absl::InfiniteDuration());
  if (!goes_on) return job;
  ISO_RETURN_IF_ERROR(called);
  if (job.job_id().empty()) return absl::InternalError("the server sent no job");
  return job;
}

absl::StatusOr<v1::Job> JobClient::Follow(const std::string& job_id,
                                          const std::function<bool(const v1::Job&)>& on_change,
                                          const std::function<void(const absl::Status&)>& on_break,
                                          bool previews) const {
  Reconnect reconnect(kFollowedFor);
  bool known = false;
  for (;;) {
    bool seen = false;
    absl::StatusOr<v1::Job> job = Watch(
        job_id,
        [&](const v1::Job& now) {
          seen = known = true;
          return on_change(now);
        },
        previews);
    if (job.ok() || !known) return job;
    ISO_RETURN_IF_ERROR(reconnect.MayTryAgain(job.status(), seen, SteadyNow()));
    if (seen) on_break(job.status());
    absl::SleepFor(reconnect.Pause());
  }
}

absl::StatusOr<v1::Job> JobClient::Cancel(const std::string& job_id, v1::CancelReason reason,
                                          absl::Duration timeout) const {
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  request.set_reason(reason);
  v1::Job job;
  ISO_RETURN_IF_ERROR(Call(
      [&](grpc::ClientContext& context) {
        return stubs_->jobs->CancelJob(&context, request, &job);
      },
      timeout));
  return job;
}

absl::StatusOr<std::string> JobClient::Trace(const std::string& job_id) const {
  v1::GetJobTraceRequest request;
  request.set_job_id(job_id);
  v1::JobTrace trace;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stubs_->jobs->GetJobTrace(&context, request, &trace);
  }));
  return trace.chrome_trace_json();
}

absl::StatusOr<v1::Job> JobClient::Refine(const v1::RefineJobRequest& request) const {
  v1::Job job;
  // The server reads all frames of the job before it answers.
  constexpr absl::Duration kToRead = absl::Minutes(5);
  ISO_RETURN_IF_ERROR(Call(
      [&](grpc::ClientContext& context) {
        return stubs_->jobs->RefineJob(&context, request, &job);
      },
      kToRead));
  return job;
}

absl::Status JobClient::Delete(const std::string& job_id, bool force) const {
  v1::DeleteJobRequest request;
  request.set_job_id(job_id);
  request.set_force(force);
  v1::DeleteJobResponse response;
  return Call([&](grpc::ClientContext& context) {
    return stubs_->jobs->DeleteJob(&context, request, &response);
  });
}

absl::Status JobClient::DownloadDicom(const std::string& job_id, DicomSink& sink) const {
  int announced = -1, begun = 0, ended = 0;
  ISO_RETURN_IF_ERROR(
      stubs_->Download(job_id, v1::RESULT_FORMAT_DICOM,
                       [&](const v1::DownloadResultResponse& piece) -> absl::Status {
                         if (announced < 0) {
                           announced = static_cast<int>(piece.file_count());
                           ISO_RETURN_IF_ERROR(sink.OnFileCount(announced));
                         }
                         return ForwardDicom(piece, begun, ended, sink);
                       }));
  if (ended != announced || begun != ended) {
    return absl::DataLossError(absl::StrCat("the server announced ", std::max(0, announced),
                                            " DICOM files and sent ", ended));
  }
  return absl::OkStatus();
}

absl::Status JobClient::DownloadVolume(const std::string& job_id, VolumeSink& sink) const {
  int64_t missing_bytes = -1;
  FloatAssembler assembler;
  ISO_RETURN_IF_ERROR(stubs_->Download(
      job_id, v1::RESULT_FORMAT_RAW_FLOAT32,
      [&](const v1::DownloadResultResponse& piece) -> absl::Status {
        if (missing_bytes < 0) {
          ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, wire::GridFromProto(piece.grid()));
          missing_bytes = grid.voxels() * int64_t{sizeof(float)};
          ISO_RETURN_IF_ERROR(sink.OnGrid(grid));
        }
        missing_bytes -= static_cast<int64_t>(piece.data().size());
        if (missing_bytes < 0) return absl::DataLossError("the server sent more than the volume");
        return assembler.Append(piece.data(), sink);
      }));
  if (missing_bytes != 0) {
    return absl::DataLossError(
        absl::StrCat("the volume is incomplete: ", missing_bytes, " bytes are missing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ListScheduledStepsResponse> JobClient::ListScheduledSteps(
    const v1::ListScheduledStepsRequest& request) const {
  v1::ListScheduledStepsResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stubs_->worklist->ListScheduledSteps(&context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::ListProtocolsResponse> JobClient::ListProtocols() const {
  v1::ListProtocolsResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stubs_->protocols->ListProtocols(&context, {}, &response);
  }));
  return response;
}

}  // namespace isocenter::client
