// A server for tests of the client: keeps to the contract of isocenter.v1, computes nothing, and
// misbehaves on demand. Listens on loopback, on a free port.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "isocenter/v1/protocols.grpc.pb.h"
#include "kernels/base/crc32c.h"

namespace isocenter::client_test {

/// What the fake does with an acquisition.
struct Behaviour {
  grpc::Status refuse = grpc::Status::OK;  // answer to the header
  bool never_answer = false;               // to the header
  int64_t fail_at_frame = -1;              // ends the call with `failure` instead of an ack
  grpc::Status failure = grpc::Status::OK;
  uint32_t next_frame_index = 0;
  bool no_result = false;
  std::function<void(int64_t frame)> before_acknowledge = [](int64_t) {};
  std::string dicom_file_name = "slice1.dcm";
  int announced_files = 2;
  bool cut_volume = false;
};

class FakeServer final : public v1::AcquisitionService::Service,
                         public v1::JobService::Service,
                         public v1::ProtocolService::Service {
 public:
  explicit FakeServer(Behaviour behaviour = {}) : behaviour_(std::move(behaviour)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::AcquisitionService::Service*>(this));
    builder.RegisterService(static_cast<v1::JobService::Service*>(this));
    builder.RegisterService(static_cast<v1::ProtocolService::Service*>(this));
    builder.SetMaxReceiveMessageSize(64 << 20);
    server_ = builder.BuildAndStart();
  }
  ~FakeServer() override { Stop(); }
  /// Breaks all calls off, as a crash would.
  void Stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  v1::AcquisitionHeader header() const {
    absl::MutexLock lock(&mutex_);
    return header_;
  }
  std::vector<v1::Frame> frames() const {
    absl::MutexLock lock(&mutex_);
    return frames_;
  }
  int64_t frames_read() const {
    absl::MutexLock lock(&mutex_);
    return static_cast<int64_t>(frames_.size());
  }
  /// False when it did not come within 20 s, as of a command that ended without it.
  bool WaitForCancel(const std::string& job) const {
    absl::MutexLock lock(&mutex_);
    const auto cancelled = [&]()
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return cancelled_ == job; };
    return mutex_.AwaitWithTimeout(absl::Condition(&cancelled), absl::Seconds(20));
  }
  bool WaitForFrames(int64_t count) const {
    absl::MutexLock lock(&mutex_);
    const auto arrived = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return static_cast<int64_t>(frames_.size()) >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&arrived), absl::Seconds(20));
  }

  grpc::Status Acquire(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::AcquireResponse, v1::AcquireRequest>* stream) override {
    v1::AcquireRequest request;
    if (!stream->Read(&request) || !request.has_header()) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "no header"};
    }
    {
      absl::MutexLock lock(&mutex_);
      header_ = request.header();
    }
    if (!behaviour_.refuse.ok()) return behaviour_.refuse;
    if (behaviour_.never_answer) {
      stream->Read(&request);  // until the client gives up
      return {grpc::StatusCode::CANCELLED, ""};
    }
    v1::AcquireResponse response;
    response.mutable_accepted()->set_job_id("job-1");
    response.mutable_accepted()->set_next_frame_index(behaviour_.next_frame_index);
    stream->Write(response);
    while (stream->Read(&request)) {
      if (request.has_finish()) return Finish(stream);
      const v1::Frame& frame = request.frame();
      if (frame.has_checksum() &&
          Crc32c(std::as_bytes(std::span(frame.pixels()))) != frame.crc32c()) {
        return {grpc::StatusCode::DATA_LOSS, "checksum"};
      }
      {
        absl::MutexLock lock(&mutex_);
        frames_.push_back(frame);
      }
      if (frame.index() == behaviour_.fail_at_frame) return behaviour_.failure;
      behaviour_.before_acknowledge(frame.index());
      response.mutable_acknowledgement()->set_frame_index(frame.index());
      stream->Write(response);
      response.mutable_progress()->set_frames_received(frame.index() + 1);
      stream->Write(response);
    }
    return context->IsCancelled()
               ? grpc::Status(grpc::StatusCode::CANCELLED, "cancelled")
               : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no finish");
  }

  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    // Five jobs in pages of at most two.
    const int first = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    const int end = std::min({first + 2, first + request->page_size(), 5});
    for (int i = first; i < end; ++i) *response->add_job() = JobNamed(absl::StrCat("job-", i));
    if (end < 5) response->set_next_page_token(absl::StrCat(end));
    return grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::Job* response) override {
    if (request->job_id() == "none") return NoJob();
    *response = JobNamed(request->job_id());
    return grpc::Status::OK;
  }
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::Job>* writer) override {
    if (request->job_id() == "none") return NoJob();
    v1::Job job = JobNamed(request->job_id());
    for (const v1::JobState state :
         {v1::JOB_STATE_RECEIVING, v1::JOB_STATE_RECONSTRUCTING, v1::JOB_STATE_EXPORTING,
          request->job_id() == "bad" ? v1::JOB_STATE_FAILED : v1::JOB_STATE_COMPLETED}) {
      job.set_state(state);
      if (state == v1::JOB_STATE_FAILED) job.set_error_message("the disk is full");
      writer->Write(job);
    }
    return grpc::Status::OK;
  }
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                         v1::Job* response) override {
    if (request->job_id() == "none") return NoJob();
    *response = JobNamed(request->job_id());
    absl::MutexLock lock(&mutex_);
    cancelled_ = request->job_id();
    return grpc::Status::OK;
  }
  grpc::Status DeleteJob(grpc::ServerContext*, const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse*) override {
    if (request->job_id() == "none") return NoJob();
    return request->job_id() == "active"
               ? grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "job active is receiving")
               : grpc::Status::OK;
  }
  grpc::Status DownloadResult(grpc::ServerContext*, const v1::DownloadResultRequest* request,
                              grpc::ServerWriter<v1::DownloadResultResponse>* writer) override {
    if (request->job_id() == "none") return NoJob();
    return request->format() == v1::RESULT_FORMAT_DICOM ? SendFiles(writer) : SendVolume(writer);
  }
  grpc::Status ListProtocols(grpc::ServerContext*, const v1::ListProtocolsRequest*,
                             v1::ListProtocolsResponse* response) override {
    for (const char* name : {"fdk", "fdk_soft"}) {
      response->add_protocol()->set_name(name);
      response->mutable_protocol()->rbegin()->set_description(absl::StrCat("recipe ", name));
    }
    response->set_default_protocol("fdk");
    return grpc::Status::OK;
  }

 private:
  static grpc::Status NoJob() { return {grpc::StatusCode::NOT_FOUND, "there is no job 'none'"}; }
  static v1::Job JobNamed(const std::string& id) {
    v1::Job job;
    job.set_job_id(id);
    job.set_state(v1::JOB_STATE_RECEIVING);
    job.set_protocol("fdk");
    job.mutable_progress()->set_frames_total(9);
    job.mutable_create_time()->set_seconds(1800000000);
    return job;
  }
  grpc::Status Finish(grpc::ServerReaderWriter<v1::AcquireResponse, v1::AcquireRequest>* stream) {
    if (behaviour_.no_result) return grpc::Status::OK;
    v1::AcquireResponse response;
    response.mutable_result()->set_job_id("job-1");
    response.mutable_result()->set_series_instance_uid("1.2.3");
    response.mutable_result()->set_kernel_gups(4.5);
    stream->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status SendFiles(grpc::ServerWriter<v1::DownloadResultResponse>* writer) {
    v1::DownloadResultResponse piece;
    piece.set_file_count(behaviour_.announced_files);
    writer->Write(piece);
    for (const std::string& name : {std::string("slice0.dcm"), behaviour_.dicom_file_name}) {
      for (const char* part : {"first ", "second"}) {
        piece.Clear();
        if (part[0] == 'f') piece.set_file_name(name);
        piece.set_data(part);
        piece.set_end_of_file(part[0] == 's');
        writer->Write(piece);
      }
    }
    return grpc::Status::OK;
  }
  /// 2 x 3 x 1 voxels of 0, 1, ... in pieces that cut values in two.
  grpc::Status SendVolume(grpc::ServerWriter<v1::DownloadResultResponse>* writer) {
    v1::DownloadResultResponse piece;
    v1::VolumeGrid& grid = *piece.mutable_grid();
    grid.set_nx(2);
    grid.set_ny(3);
    grid.set_nz(1);
    grid.set_spacing_x_mm(0.5);
    grid.set_spacing_y_mm(1);
    grid.set_spacing_z_mm(2);
    grid.set_origin_x_mm(-7);
    writer->Write(piece);
    std::string bytes;
    for (float v = 0; v < 6; ++v) bytes.append(reinterpret_cast<const char*>(&v), sizeof(v));
    if (behaviour_.cut_volume) bytes.resize(20);
    for (size_t i = 0; i < bytes.size(); i += 7) {
      piece.Clear();
      piece.set_data(bytes.substr(i, 7));
      piece.set_end_of_file(i + 7 >= bytes.size());
      writer->Write(piece);
    }
    return grpc::Status::OK;
  }

  const Behaviour behaviour_;
  mutable absl::Mutex mutex_;
  v1::AcquisitionHeader header_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::Frame> frames_ ABSL_GUARDED_BY(mutex_);
  std::string cancelled_ ABSL_GUARDED_BY(mutex_);
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace isocenter::client_test
