// A server for tests of the client: keeps to the contract of isocenter.v1, computes nothing, and
// misbehaves on demand. Listens on loopback, on a free port.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "isocenter/v1/protocols.grpc.pb.h"
#include "kernels/base/crc32c.h"

namespace isocenter::client_test {

/// What the fake does with an acquisition.
struct Behaviour {
  grpc::Status refuse = grpc::Status::OK;       // answer to the header
  std::map<std::string, std::string> trailers;  // of that refusal
  bool never_answer = false;                    // to the header
  std::function<void()> before_answer = [] {};  // to the header
  /// Openings that are admitted and end, with `break_status`, before the console is told.
  int break_openings = 0;
  int64_t fail_at_frame = -1;  // ends the call with `failure` instead of an ack
  grpc::Status failure = grpc::Status::OK;
  int64_t result_at_frame = -1;  // ends the call with the result: the others had been replaced
  uint32_t next_frame_index = 0;
  bool no_result = false;
  // Breaks: each ends one call, with `break_status`, in place of taking over the frame.
  std::deque<int64_t> break_at_frames;
  // To the first questions which nodes there are; then there is one.
  std::deque<grpc::Status> refuse_lists;
  int breaks_after_finish = 0;
  int break_watches = 0;  // so many end with `break_status` after the job was told once
  grpc::Status break_status = {grpc::StatusCode::UNAVAILABLE, "the connection was reset"};
  std::deque<grpc::Status> refuse_resumes;  // answers to the first resumes
  bool forgets_frames = false;              // a resume begins at frame 0
  bool warns = false;                       // with every frame: a warning and a preview
  std::function<void(int64_t frame)> before_acknowledge = [](int64_t) {};
  std::string dicom_file_name = "slice1.dcm";
  int announced_files = 2;
  bool cut_volume = false;
};

class FakeServer final : public v1::AcquisitionService::Service,
                         public v1::JobService::Service,
                         public v1::ProtocolService::Service {
 public:
  explicit FakeServer(Behaviour behaviour = {})
      : behaviour_(std::move(behaviour)),
        break_at_frames_(behaviour_.break_at_frames),
        refuse_resumes_(behaviour_.refuse_resumes),
        refuse_lists_(behaviour_.refuse_lists),
        breaks_after_finish_(behaviour_.breaks_after_finish),
        break_openings_(behaviour_.break_openings),
        break_watches_(behaviour_.break_watches) {
    Start();
  }
  ~FakeServer() override { Stop(); }
  /// Breaks all calls off, as a crash would.
  void Stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  /// Comes back at the same address after Stop, with the frames that it had.
  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::AcquisitionService::Service*>(this));
    builder.RegisterService(static_cast<v1::JobService::Service*>(this));
    builder.RegisterService(static_cast<v1::ProtocolService::Service*>(this));
    builder.SetMaxReceiveMessageSize(64 << 20);
    server_ = builder.BuildAndStart();
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
    return mutex_.AwaitWithTimeout(absl::Condition(&cancelled), absl::Seconds(100));
  }
  bool WaitForFrames(int64_t count) const {
    absl::MutexLock lock(&mutex_);
    const auto arrived = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return static_cast<int64_t>(frames_.size()) >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&arrived), absl::Seconds(100));
  }

  int64_t resumes() const {
    absl::MutexLock lock(&mutex_);
    return resumes_;
  }
  /// Headers that came, repeated ones included.
  int64_t openings() const {
    absl::MutexLock lock(&mutex_);
    return openings_;
  }
  /// That the last resumption repeated.
  v1::AcquisitionHeader resumed_with() const {
    absl::MutexLock lock(&mutex_);
    return resumed_with_;
  }
  int64_t acquisitions() const {
    absl::MutexLock lock(&mutex_);
    return static_cast<int64_t>(held_.size());
  }

  grpc::Status Acquire(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::AcquireResponse, v1::AcquireRequest>* stream) override {
    v1::AcquireRequest request;
    if (!stream->Read(&request) || (!request.has_header() && !request.has_resume())) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "no header"};
    }
    v1::AcquireResponse response;
    if (request.has_resume()) {
      if (grpc::Status status = Resume(request.resume(), *response.mutable_accepted());
          !status.ok()) {
        return status;
      }
    } else {
      if (!behaviour_.refuse.ok()) {
        absl::MutexLock lock(&mutex_);
        header_ = request.header();
        ++openings_;
        for (const auto& [key, value] : behaviour_.trailers) {
          context->AddTrailingMetadata(key, value);
        }
        return behaviour_.refuse;
      }
      behaviour_.before_answer();
      if (behaviour_.never_answer) {
        stream->Read(&request);  // until the client gives up
        return {grpc::StatusCode::CANCELLED, ""};
      }
      Accept(request.header(), *response.mutable_accepted());
      absl::MutexLock lock(&mutex_);
      if (break_openings_-- > 0) return behaviour_.break_status;
    }
    const std::string job = response.accepted().job_id();
    stream->Write(response);
    while (stream->Read(&request)) {
      if (request.has_finish()) return Finish(stream, job);
      const v1::Frame& frame = request.frame();
      if (frame.has_checksum() &&
          Crc32c(std::as_bytes(std::span(frame.pixels()))) != frame.crc32c()) {
        return {grpc::StatusCode::DATA_LOSS, "checksum"};
      }
      if (frame.index() == behaviour_.fail_at_frame) return behaviour_.failure;
      {
        absl::MutexLock lock(&mutex_);
        if (!break_at_frames_.empty() && frame.index() == break_at_frames_.front()) {
          break_at_frames_.pop_front();
          return behaviour_.break_status;
        }
        frames_.push_back(frame);
        held_[job].insert(frame.index());
      }
      behaviour_.before_acknowledge(frame.index());
      Acknowledge(job, *response.mutable_acknowledgement());
      stream->Write(response);
      response.mutable_progress()->set_frames_received(frame.index() + 1);
      response.mutable_progress()->set_state(v1::JOB_STATE_RECEIVING);
      stream->Write(response);
      if (behaviour_.warns) Warn(frame.index(), stream);
      if (frame.index() == behaviour_.result_at_frame) return Finish(stream, job);
    }
    return context->IsCancelled()
               ? grpc::Status(grpc::StatusCode::CANCELLED, "cancelled")
               : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no finish");
  }

  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    {
      absl::MutexLock lock(&mutex_);
      states_listed_.assign(request->state().begin(), request->state().end());
    }
    // Five jobs in pages of at most two.
    const int first = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    const int end = std::min({first + 2, first + request->page_size(), 5});
    for (int i = first; i < end; ++i) *response->add_job() = JobNamed(absl::StrCat("job-", i));
    if (first == 0 && end == 2) {
      // Of two that have completed, the second is a refinement of the first.
      response->mutable_job(0)->mutable_result()->set_kernel_gups(4.5);
      response->mutable_job(0)->mutable_result()->set_seconds_after_last_frame(0.25);
      response->mutable_job(1)->set_refines_job_id("job-0");
      for (v1::Job& job : *response->mutable_job()) {
        job.mutable_result()->mutable_timings()->set_total_seconds(61);
      }
    }
    if (end < 5) response->set_next_page_token(absl::StrCat(end));
    return grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::Job* response) override {
    if (request->job_id() == "none") return NoJob();
    *response = JobNamed(request->job_id());
    absl::MutexLock lock(&mutex_);
    if (const auto held = held_.find(request->job_id()); held != held_.end()) {
      response->mutable_progress()->set_frames_received(held->second.size());
    }
    return grpc::Status::OK;
  }
  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*,
                         v1::ListNodesResponse*) override {
    absl::MutexLock lock(&mutex_);
    if (refuse_lists_.empty()) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    const grpc::Status status = refuse_lists_.front();
    refuse_lists_.pop_front();
    return status;
  }
  grpc::Status WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::Job>* writer) override {
    if (request->job_id() == "none") return NoJob();
    v1::Job job = JobNamed(request->job_id());
    const bool breaks = break_watches_.fetch_sub(1) > 0;
    if (breaks || request->job_id() == "endless") {
      job.set_state(v1::JOB_STATE_RECEIVING);
      writer->Write(job);
      while (!breaks && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
      return behaviour_.break_status;
    }
    for (const v1::JobState state :
         {v1::JOB_STATE_RECEIVING, v1::JOB_STATE_RECONSTRUCTING, v1::JOB_STATE_EXPORTING,
          request->job_id() == "bad" ? v1::JOB_STATE_FAILED : v1::JOB_STATE_COMPLETED}) {
      job.set_state(state);
      if (state == v1::JOB_STATE_FAILED) job.set_error_message("the disk is full");
      if (behaviour_.warns && job.warning().empty()) job.add_warning()->set_text("frame 3 is dark");
      if (request->previews()) *job.mutable_preview() = SmallPreview();
      if (absl::EndsWith(request->job_id(), "-refined")) AddIteration(job);
      if (absl::EndsWith(request->job_id(), "-second")) {
        job.mutable_second_pass()->set_metal(true);
        job.mutable_second_pass()->set_bone(true);
      }
      if (absl::EndsWith(request->job_id(), "-still") ||
          absl::EndsWith(request->job_id(), "-moved")) {
        AddMotion(absl::EndsWith(request->job_id(), "-moved"), job);
      }
      writer->Write(job);
    }
    return grpc::Status::OK;
  }
  /// Of three frames, by 4 mm and 3 degrees.
  static void AddMotion(bool found, v1::Job& job) {
    job.mutable_second_pass()->set_motion(true);
    job.mutable_progress()->set_frames_total(3);
    v1::ObjectMotion& motion = *job.mutable_motion();
    motion.Clear();
    motion.set_found(found);
    motion.set_entropy_before(3.5);
    motion.set_entropy_after(found ? 3.25 : 3.5);
    if (!found) return;
    motion.set_largest_shift_mm(4);
    motion.set_largest_turn_deg(3);
    motion.add_pose()->set_shift_x_mm(-4);
    motion.add_pose();
    motion.add_pose()->set_turn_z_deg(3);
  }
  /// One more after each change; the second and later ones have an objective.
  static void AddIteration(v1::Job& job) {
    job.mutable_progress()->set_iterations_total(4);
    v1::IterationReport& report = *job.add_iteration();
    report.set_iteration(job.iteration_size());
    report.set_relative_residual(0.5 / job.iteration_size());
    if (job.iteration_size() > 1) report.set_objective(100.0 / job.iteration_size());
    report.set_seconds(1.5 * job.iteration_size());
    job.mutable_progress()->set_iterations_done(job.iteration_size());
  }
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                         v1::Job* response) override {
    if (request->job_id() == "none") return NoJob();
    *response = JobNamed(request->job_id());
    absl::MutexLock lock(&mutex_);
    cancelled_ = request->job_id();
    return grpc::Status::OK;
  }
  grpc::Status RefineJob(grpc::ServerContext*, const v1::RefineJobRequest* request,
                         v1::Job* response) override {
    if (request->job_id() == "none") return NoJob();
    const bool motion = request->second_pass().motion();
    *response = JobNamed(request->job_id() + (motion                       ? "-moved"
                                              : request->has_second_pass() ? "-second"
                                                                           : "-refined"));
    response->set_protocol(request->protocol());
    response->set_refines_job_id(request->job_id());
    const std::string& reference = request->second_pass().reference_job_id();
    // Unless it is to be as a service that does not know the field.
    if (!reference.empty() && reference != "unknown-field") {
      response->mutable_second_pass()->set_reference_job_id(reference);
    }
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

  /// The filter of the last question for jobs.
  std::vector<int> states_listed() const {
    absl::MutexLock lock(&mutex_);
    return states_listed_;
  }

 private:
  static grpc::Status NoJob() { return {grpc::StatusCode::NOT_FOUND, "there is no job 'none'"}; }
  static v1::Job JobNamed(const std::string& id) {
    v1::Job job;
    job.set_job_id(id);
    job.set_state(v1::JOB_STATE_RECEIVING);
    job.set_protocol("fdk");
    job.set_job_class(v1::JOB_CLASS_INTERACTIVE);
    job.mutable_progress()->set_frames_total(9);
    job.mutable_create_time()->set_seconds(1800000000);
    job.mutable_calibration()->set_name("room1-90kV");
    job.mutable_calibration()->set_crc32c(0xbeef);
    job.mutable_calibration()->set_outside_validity(true);
    job.mutable_calibration()->mutable_created()->set_seconds(1800000000);
    job.mutable_geometry()->set_name("room1-beads");
    return job;
  }
  void Accept(const v1::AcquisitionHeader& header, v1::Accepted& accepted) {
    absl::MutexLock lock(&mutex_);
    header_ = header;
    ++openings_;
    std::string& job = jobs_[header.request_id()];
    if (job.empty()) job = absl::StrCat("job-", held_.size() + 1);
    accepted.set_job_id(job);
    accepted.set_next_frame_index(behaviour_.next_frame_index);
    std::set<uint32_t>& held = held_[accepted.job_id()];
    for (uint32_t i = 0; i < behaviour_.next_frame_index; ++i) held.insert(i);
  }
  grpc::Status Resume(const v1::Resume& resume, v1::Accepted& accepted) {
    absl::MutexLock lock(&mutex_);
    ++resumes_;
    resumed_with_ = resume.header();
    if (!refuse_resumes_.empty()) {
      const grpc::Status status = refuse_resumes_.front();
      refuse_resumes_.pop_front();
      if (!status.ok()) return status;
    }
    if (resume.job_id() == "none") return NoJob();
    accepted.set_job_id(resume.job_id());
    std::set<uint32_t>& held = held_[resume.job_id()];
    if (behaviour_.forgets_frames) held.clear();
    uint32_t next = 0;
    while (held.count(next) != 0) ++next;
    accepted.set_next_frame_index(next);
    return grpc::Status::OK;
  }
  /// What is held: up to the first gap, and ranges beyond.
  void Acknowledge(const std::string& job, v1::Acknowledgement& acknowledgement) const {
    absl::MutexLock lock(&mutex_);
    acknowledgement.Clear();
    const std::set<uint32_t>& held = held_.at(job);
    v1::FrameRange* range = nullptr;
    for (auto it = held.begin(); it != held.end(); ++it) {
      if (*it == (acknowledgement.has_frame_index() ? acknowledgement.frame_index() + 1 : 0) &&
          range == nullptr) {
        acknowledgement.set_frame_index(*it);
      } else if (range != nullptr && range->last() + 1 == *it) {
        range->set_last(*it);
      } else {
        range = acknowledgement.add_beyond();
        range->set_first(*it);
        range->set_last(*it);
      }
    }
  }
  static void Warn(uint32_t frame,
                   grpc::ServerReaderWriter<v1::AcquireResponse, v1::AcquireRequest>* stream) {
    v1::AcquireResponse response;
    response.mutable_warning()->set_kind(v1::WARNING_KIND_DOSE_DIP);
    response.mutable_warning()->set_frame_index(frame);
    response.mutable_warning()->set_text(absl::StrCat("frame ", frame, " is dark"));
    stream->Write(response);
    *response.mutable_preview() = SmallPreview();
    stream->Write(response);
  }
  /// Three planes of 2 x 2 pixels: -1000, 0, 1000 and 2000 HU.
  static v1::Preview SmallPreview() {
    v1::Preview preview;
    for (const auto orientation : {v1::PLANE_ORIENTATION_AXIAL, v1::PLANE_ORIENTATION_CORONAL,
                                   v1::PLANE_ORIENTATION_SAGITTAL}) {
      v1::PreviewPlane& plane = *preview.add_plane();
      plane.set_orientation(orientation);
      plane.set_columns(2);
      plane.set_rows(2);
      plane.set_column_spacing_mm(1);
      plane.set_row_spacing_mm(1);
      const int16_t values[] = {-1000, 0, 1000, 2000};
      plane.set_hounsfield(values, sizeof(values));
    }
    return preview;
  }
  grpc::Status Finish(grpc::ServerReaderWriter<v1::AcquireResponse, v1::AcquireRequest>* stream,
                      const std::string& job) {
    if (behaviour_.no_result) return grpc::Status::OK;
    {
      absl::MutexLock lock(&mutex_);
      if (breaks_after_finish_ > 0) {
        --breaks_after_finish_;
        return behaviour_.break_status;
      }
    }
    v1::AcquireResponse response;
    response.mutable_result()->set_job_id(job);
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
  std::vector<int> states_listed_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> jobs_ ABSL_GUARDED_BY(mutex_);         // by request id
  std::map<std::string, std::set<uint32_t>> held_ ABSL_GUARDED_BY(mutex_);  // frames, by job
  std::deque<int64_t> break_at_frames_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::Status> refuse_resumes_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::Status> refuse_lists_ ABSL_GUARDED_BY(mutex_);
  int breaks_after_finish_ ABSL_GUARDED_BY(mutex_);
  int break_openings_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> break_watches_ = 0;
  int64_t resumes_ ABSL_GUARDED_BY(mutex_) = 0, openings_ ABSL_GUARDED_BY(mutex_) = 0;
  v1::AcquisitionHeader resumed_with_ ABSL_GUARDED_BY(mutex_);
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace isocenter::client_test
