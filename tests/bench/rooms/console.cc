#include "tests/bench/rooms/console.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/acquisition_stream.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::bench {
namespace {

// A server that has not taken over the last frame by then has lost it.
constexpr absl::Duration kAcknowledgementLimit = absl::Seconds(60);
constexpr absl::Duration kPacsLimit = absl::Seconds(120);

/// What the stream's thread notes down.
struct Notes {
  absl::Mutex mutex;
  std::vector<absl::Time> due ABSL_GUARDED_BY(mutex);  // per frame
  int64_t acknowledged ABSL_GUARDED_BY(mutex) = 0;
  Distribution acknowledge_seconds ABSL_GUARDED_BY(mutex);
  absl::Time volume ABSL_GUARDED_BY(mutex) = absl::InfiniteFuture();
  std::vector<Move> moves ABSL_GUARDED_BY(mutex);
  std::optional<v1::JobProgress> completed ABSL_GUARDED_BY(mutex);  // what was told last, then

  void Acknowledged(uint32_t frame) {
    const absl::Time now = absl::Now();
    absl::MutexLock lock(&mutex);
    ++acknowledged;
    acknowledge_seconds.Add(absl::ToDoubleSeconds(now - due[frame]));
    if (!moves.empty() && !moves.back().first_acknowledged) {
      moves.back().first_acknowledged = MonotonicSeconds();
    }
  }
  void Progress(const v1::JobProgress& progress) {
    if (progress.state() != v1::JOB_STATE_EXPORTING &&
        progress.state() != v1::JOB_STATE_COMPLETED) {
      return;
    }
    absl::MutexLock lock(&mutex);
    volume = std::min(volume, absl::Now());
    if (progress.state() == v1::JOB_STATE_COMPLETED) completed = progress;
  }
  void Moved(const std::string& node) {
    absl::MutexLock lock(&mutex);
    moves.push_back({.node = node, .accepted = MonotonicSeconds(), .first_acknowledged = {}});
  }
};

absl::Status SendFrames(const ConsoleSettings& settings,
                        const std::vector<std::vector<std::byte>>& noise,
                        client::AcquisitionStream& stream, Notes& notes,
                        AcquisitionRecord& record) {
  const absl::Time begin = absl::Now();
  for (uint32_t i = 0; i < settings.header.frame_count(); ++i) {
    if (settings.fps > 0) {
      // Deadlines from the start: a frame that is late delays none of its successors.
      const absl::Time due = begin + absl::Seconds(i / settings.fps);
      absl::SleepFor(due - absl::Now());
      absl::MutexLock lock(&notes.mutex);
      notes.due[i] = due;
    } else {
      absl::MutexLock lock(&notes.mutex);
      notes.due[i] = absl::Now();
    }
    const std::vector<std::byte>& pixels = noise[i % noise.size()];
    ISO_RETURN_IF_ERROR(stream.SendFrame(i, pixels));
    ++record.frames_sent;
    record.bytes_sent += static_cast<int64_t>(pixels.size());
  }
  return absl::OkStatus();
}

bool WaitForAcknowledgements(const AcquisitionRecord& record, Notes& notes) {
  absl::MutexLock lock(&notes.mutex);
  const auto all = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(notes.mutex) {
    return notes.acknowledged == record.frames_sent;
  };
  return notes.mutex.AwaitWithTimeout(absl::Condition(&all), kAcknowledgementLimit);
}

/// Frames that the server took over and whose job does not have them. Asks where it was not told:
/// the node may be away by now.
absl::StatusOr<int64_t> MissingInResult(const client::JobClient& jobs, const std::string& job_id,
                                        int64_t acknowledged, Notes& notes) {
  std::optional<v1::JobProgress> progress;
  {
    absl::MutexLock lock(&notes.mutex);
    progress = notes.completed;
  }
  if (!progress) {
    ISO_ASSIGN_OR_RETURN(const v1::Job job, jobs.Get(job_id));
    progress = job.progress();
  }
  const int64_t absent = acknowledged - int64_t{progress->frames_received()};
  return std::max({int64_t{0}, absent, int64_t{progress->frames_lost()}});
}

/// Behind one address there may be several nodes; the job is known at its own.
client::ServiceChannel AtItsNode(const client::ServiceChannel& channel,
                                 const client::AcquisitionStream& stream) {
  return client::ServiceChannel(channel.grpc_channel(), stream.node());
}

bool Cancelled(const client::ServiceChannel& channel, const std::string& job_id) {
  const absl::Status status = client::JobClient(channel).Cancel(job_id).status();
  if (!status.ok()) {
    std::fprintf(stderr, "isocenter-bench: job %s is not cancelled: %s\n", job_id.c_str(),
                 std::string(status.message()).c_str());
  }
  return status.ok();
}

absl::Status Complete(const client::ServiceChannel& channel, const ConsoleSettings& settings,
                      client::AcquisitionStream& stream, Notes& notes, absl::Time last_frame,
                      AcquisitionRecord& record) {
  const std::string& job_id = record.job_id;
  if (!settings.wait_results) {
    if (!WaitForAcknowledgements(record, notes)) {
      return absl::DataLossError(absl::StrCat("job ", job_id, ": frames without acknowledgement"));
    }
    return client::JobClient(AtItsNode(channel, stream)).Cancel(job_id).status();
  }
  ISO_ASSIGN_OR_RETURN(const v1::JobResult result, stream.Finish());
  record.series_instance_uid = result.series_instance_uid();
  const absl::Time stored = absl::Now();
  const auto after_last_frame = [&](absl::Time time) {
    return absl::ToDoubleSeconds(time - last_frame);
  };
  record.volume_seconds = result.seconds_after_last_frame();
  record.stored_seconds = after_last_frame(stored);
  {
    absl::MutexLock lock(&notes.mutex);
    record.volume_seconds_here = after_last_frame(std::min(notes.volume, stored));
  }
  const v1::VolumeGrid& grid = result.grid();
  record.voxel_updates =
      1.0 * grid.nx() * grid.ny() * grid.nz() * static_cast<double>(record.frames_sent);
  record.kernel_gups = result.kernel_gups();
  record.whole_gups = result.whole_gups();
  ISO_ASSIGN_OR_RETURN(record.frames_missing_in_result,
                       MissingInResult(client::JobClient(AtItsNode(channel, stream)), job_id,
                                       stream.acknowledged_frames(), notes));
  if (settings.pacs != nullptr) {
    ISO_RETURN_IF_ERROR(settings.pacs->WaitUntilFound(result.study_instance_uid(),
                                                      result.series_instance_uid(), kPacsLimit));
    record.found_seconds = after_last_frame(absl::Now());
  }
  return absl::OkStatus();
}

}  // namespace

void RunningJobs::Add(const client::ServiceChannel& channel, const std::string& job_id) {
  {
    absl::MutexLock lock(&mutex_);
    if (!cancelled_) {
      jobs_.emplace(job_id, channel);
      return;
    }
  }
  // Accepted while the others were cancelled.
  Cancelled(channel, job_id);
}

void RunningJobs::Remove(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  jobs_.erase(job_id);
}

int RunningJobs::CancelAll() {
  std::map<std::string, client::ServiceChannel> jobs;
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    jobs.swap(jobs_);
  }
  int cancelled = 0;
  for (const auto& [job_id, channel] : jobs) cancelled += Cancelled(channel, job_id) ? 1 : 0;
  return cancelled;
}

double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

AcquisitionRecord RunAcquisition(const client::ServiceChannel& channel,
                                 const ConsoleSettings& settings,
                                 const std::vector<std::vector<std::byte>>& noise, double due) {
  AcquisitionRecord record;
  record.due = due;
  record.begun = MonotonicSeconds();
  Notes notes;
  {
    absl::MutexLock lock(&notes.mutex);
    notes.due.resize(settings.header.frame_count());
  }
  client::AcquisitionStreamOptions options;
  options.on_acknowledged = [&notes](uint32_t frame) { notes.Acknowledged(frame); };
  options.on_progress = [&notes](const v1::JobProgress& progress) { notes.Progress(progress); };
  options.on_moved = [&notes](const std::string& node) { notes.Moved(node); };
  absl::StatusOr<std::unique_ptr<client::AcquisitionStream>> stream =
      client::AcquisitionStream::Open(channel, settings.header, std::move(options));
  if (!stream.ok()) {
    record.outcome =
        absl::IsResourceExhausted(stream.status()) ? Outcome::kRefused : Outcome::kFailed;
    record.error = stream.status().ToString();
    record.ended = MonotonicSeconds();
    return record;
  }
  record.accepted = MonotonicSeconds();
  record.job_id = (*stream)->accepted().job_id();
  record.first_node = (*stream)->node();
  if (settings.running != nullptr) {
    settings.running->Add(AtItsNode(channel, **stream), record.job_id);
  }
  absl::Status status = SendFrames(settings, noise, **stream, notes, record);
  const absl::Time last_frame = absl::Now();
  record.last_frame = MonotonicSeconds();
  if (status.ok()) status = Complete(channel, settings, **stream, notes, last_frame, record);
  record.outcome = status.ok() ? Outcome::kCompleted : Outcome::kFailed;
  if (!status.ok()) {
    record.error = absl::StrCat(record.job_id, ": ", status.ToString());
  }
  if (settings.running != nullptr) settings.running->Remove(record.job_id);
  record.ended = MonotonicSeconds();
  record.node = (*stream)->node();
  record.reconnects = (*stream)->reconnects();
  stream->reset();  // nothing is noted down any more
  absl::MutexLock lock(&notes.mutex);
  record.frames_unacknowledged = record.frames_sent - notes.acknowledged;
  record.acknowledge_seconds = notes.acknowledge_seconds;
  record.moves = notes.moves;
  return record;
}

}  // namespace isocenter::bench
