#include "server/pipeline/reconstruction_job.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {
namespace {

using jobs::Job;
using jobs::JobState;

double Gups(double updates, double seconds) { return seconds > 0 ? updates / seconds / 1e9 : 0; }

}  // namespace

ReconstructionJob::ReconstructionJob(std::string id, JobEnvironment environment,
                                     scheduler::Admission admission,
                                     std::unique_ptr<const recon::ReconstructionPlan> plan,
                                     std::unique_ptr<recon::Reconstructor> reconstructor,
                                     HostBuffers buffers, std::function<void()> room,
                                     std::function<void()> ended)
    : id_(std::move(id)),
      environment_(environment),
      plan_(std::move(plan)),
      room_(std::move(room)),
      on_ended_(std::move(ended)),
      chunks_(environment.slot.lanes.NewLane()),
      export_(environment.exporter.NewLane()),
      accepted_time_(absl::Now()),
      assembler_(*plan_, std::move(buffers.frames)),
      admission_(std::move(admission)),
      reconstructor_(std::move(reconstructor)),
      hounsfield_(std::move(buffers.volume)) {}

absl::StatusOr<bool> ReconstructionJob::AddFrame(const Frame& frame) {
  absl::StatusOr<ChunkAssembler::Added> added;
  bool all_received = false;
  {
    absl::MutexLock input(&input_mutex_);
    if (has_ended()) return EndStatus();
    if (assembler_.complete()) return assembler_.Add(frame).status();
    added = assembler_.Add(frame);
    if (added.ok()) {
      const absl::Time now = absl::Now();
      if (frame.index == 0) first_frame_time_ = now;
      all_received = assembler_.complete();
      absl::MutexLock lock(&mutex_);
      last_frame_time_ = now;
      acquisition_seconds_ = absl::ToDoubleSeconds(now - first_frame_time_);
    }
  }
  if (!added.ok()) {
    Fail(added.status());
    return added.status();
  }
  environment_.observer.OnFrame(static_cast<int64_t>(frame.pixels.size()));
  const int received = static_cast<int>(frame.index) + 1;
  // The chunk goes first: what is left after the last frame should not wait for book-keeping.
  if (added->complete != nullptr) SubmitChunk(std::move(added->complete));
  environment_.table.Update(id_, [&](Job& job) { job.progress.frames_received = received; });
  if (all_received) EnterReconstructing();
  return added->room;
}

absl::Status ReconstructionJob::FinishInput() {
  int frames = 0;
  {
    absl::MutexLock input(&input_mutex_);
    if (assembler_.complete()) return absl::OkStatus();
    if (has_ended()) return EndStatus();
    frames = assembler_.frames();
  }
  absl::Status missing = absl::FailedPreconditionError(
      absl::StrCat("finish came after ", frames, " frames; legal is after all ", plan_->views()));
  Fail(missing);
  return missing;
}

void ReconstructionJob::AbandonInput(JobState state, const absl::Status& why) {
  {
    absl::MutexLock input(&input_mutex_);
    if (assembler_.complete()) return;
  }
  if (ClaimEnd(why, /*by_exporter=*/false)) PublishEnd(state, why);
}

void ReconstructionJob::Cancel(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (exporting_ && !has_ended()) {
      if (!cancel_requested_) end_reason_ = why;
      cancel_requested_ = true;
      return;
    }
  }
  if (ClaimEnd(why, /*by_exporter=*/false)) PublishEnd(JobState::kCancelled, why);
}

void ReconstructionJob::SubmitChunk(std::unique_ptr<ChunkBuffer> buffer) {
  // std::function needs a copyable callable, so the buffer travels in a shared pointer.
  auto shared = std::make_shared<std::unique_ptr<ChunkBuffer>>(std::move(buffer));
  chunks_->Submit([self = shared_from_this(), shared] {
    if (self->has_ended()) return;
    const absl::Status status = self->ProcessChunk(std::move(*shared));
    if (!status.ok()) self->Fail(status);
  });
}

absl::Status ReconstructionJob::ProcessChunk(std::unique_ptr<ChunkBuffer> buffer) {
  const recon::Chunk chunk = plan_->chunks[buffer->chunk];
  ISO_RETURN_IF_ERROR(reconstructor_->Push(assembler_.View(*buffer), buffer->measured));
  if (assembler_.Recycle(std::move(buffer))) room_();
  environment_.table.Update(
      id_, [&](Job& job) { job.progress.frames_backprojected = chunk.first_view + chunk.views; });
  return chunk.first_view + chunk.views == plan_->views() ? CompleteVolume() : absl::OkStatus();
}

absl::Status ReconstructionJob::CompleteVolume() {
  EnterReconstructing();
  ISO_RETURN_IF_ERROR(reconstructor_->Finish(Volume()));
  const absl::Time complete = absl::Now();
  ISO_ASSIGN_OR_RETURN(const std::vector<recon::DeviceSpan> trace, reconstructor_->TakeTrace());
  const recon::StageSeconds seconds = recon::SecondsOf(trace);
  reconstructor_.reset();
  assembler_.Release();
  admission_.ShrinkToHost(plan_->grid.voxels() * static_cast<int64_t>(sizeof(float)));

  double acquisition_seconds, after_last_frame;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) return absl::OkStatus();
    exporting_ = true;
    acquisition_seconds = acquisition_seconds_;
    after_last_frame = absl::ToDoubleSeconds(complete - last_frame_time_);
  }
  const double whole_gups = Gups(plan_->voxel_updates, seconds.busy);
  environment_.slot.cost.Add(plan_->voxel_updates, seconds.busy);
  const absl::Status saved =
      environment_.table.Transition(id_, JobState::kExporting, [&](Job& job) {
        job.result.timings.upload = seconds.upload;
        job.result.timings.download = seconds.download;
        job.result.timings.preprocess = seconds.preprocess;
        job.result.timings.filter = seconds.filter;
        job.result.timings.backproject = seconds.backproject;
        job.result.timings.hounsfield = seconds.hounsfield;
        job.result.timings.acquisition = acquisition_seconds;
        job.result.seconds_after_last_frame = after_last_frame;
        job.result.kernel_gups = Gups(plan_->voxel_updates, seconds.backproject);
        job.result.whole_gups = whole_gups;
      });
  if (!saved.ok()) spdlog::error("event=save_failed job={} error=\"{}\"", id_, saved.ToString());
  // Nobody's volume should fail because of its trace.
  const absl::Status traced = environment_.table.SaveTrace(id_, recon::ChromeTrace(trace));
  if (!traced.ok()) spdlog::warn("event=trace_lost job={} error=\"{}\"", id_, traced.ToString());
  export_->Submit([self = shared_from_this()] { self->StoreVolume(); });
  return absl::OkStatus();
}

absl::StatusOr<jobs::StoredSeries> ReconstructionJob::Store() {
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment_.table.Get(id_));
  return environment_.results.Store(*job, Volume(), [&](int slices) {
    environment_.table.Update(id_,
                              [&](Job& changed) { changed.progress.slices_exported = slices; });
    return !cancel_requested_;
  });
}

void ReconstructionJob::StoreVolume() {
  const absl::Time begin = absl::Now();
  const absl::StatusOr<jobs::StoredSeries> stored = Store();
  if (!stored.ok()) {
    const bool cancelled = cancel_requested_;
    const absl::Status why = cancelled ? EndStatus() : stored.status();
    if (ClaimEnd(why, /*by_exporter=*/true)) {
      PublishEnd(cancelled ? JobState::kCancelled : JobState::kFailed, why);
    }
    return;
  }
  absl::Time last_frame;
  {
    absl::MutexLock lock(&mutex_);
    last_frame = last_frame_time_;
  }
  const absl::Time end = absl::Now();
  if (!ClaimEnd(absl::OkStatus(), /*by_exporter=*/true)) return;
  PublishEnd(JobState::kCompleted, absl::OkStatus(), [&](Job& changed) {
    changed.result.study_instance_uid = stored->study_instance_uid;
    changed.result.series_instance_uid = stored->series_instance_uid;
    changed.result.frame_of_reference_uid = stored->frame_of_reference_uid;
    changed.result.instance_count = stored->instance_count;
    changed.result.seconds_to_stored = absl::ToDoubleSeconds(end - last_frame);
    changed.result.timings.export_ = absl::ToDoubleSeconds(end - begin);
    changed.result.timings.total = absl::ToDoubleSeconds(end - accepted_time_);
    changed.progress.slices_exported = changed.progress.slices_total;
  });
}

void ReconstructionJob::EnterReconstructing() {
  // Reached by the producer with the last frame and by the slot's thread with the last chunk; the
  // one that comes second waits, so that states follow in order.
  absl::call_once(all_received_, [this] {
    const absl::Status status = environment_.table.Transition(id_, JobState::kReconstructing);
    if (!status.ok() && !has_ended()) {
      spdlog::error("event=save_failed job={} error=\"{}\"", id_, status.ToString());
    }
  });
}

void ReconstructionJob::Fail(const absl::Status& why) {
  if (ClaimEnd(why, /*by_exporter=*/false)) PublishEnd(JobState::kFailed, why);
}

bool ReconstructionJob::ClaimEnd(const absl::Status& why, bool by_exporter) {
  absl::MutexLock lock(&mutex_);
  if (ended_ || (exporting_ && !by_exporter)) return false;
  ended_.store(true, std::memory_order_release);
  end_reason_ = why;
  return true;
}

void ReconstructionJob::PublishEnd(JobState state, const absl::Status& why,
                                   const std::function<void(Job&)>& change) {
  const absl::Time now = absl::Now();
  const absl::Status saved = environment_.table.Transition(id_, state, [&](Job& job) {
    job.error = why;
    job.end_time = now;
    if (change) change(job);
  });
  if (!saved.ok()) spdlog::error("event=save_failed job={} error=\"{}\"", id_, saved.ToString());
  chunks_->Submit([self = shared_from_this()] {
    {
      absl::MutexLock input(&self->input_mutex_);
      self->assembler_.Release();
    }
    self->reconstructor_.reset();
    self->hounsfield_.reset();
    self->admission_ = scheduler::Admission();
    self->on_ended_();
  });
}

absl::Status ReconstructionJob::EndStatus() const {
  absl::MutexLock lock(&mutex_);
  return end_reason_.ok() ? absl::FailedPreconditionError(absl::StrCat("job '", id_, "' has ended"))
                          : end_reason_;
}

}  // namespace isocenter::pipeline
