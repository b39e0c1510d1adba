#include "server/replicas/takeover.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"

namespace isocenter::replicas {

using jobs::FrameState;

namespace {

/// Whether both correct alike.
bool IsSame(const std::optional<jobs::UsedCalibration>& a,
            const std::optional<jobs::UsedCalibration>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->name == b->name && a->crc32c == b->crc32c;
}

}  // namespace

/// The frames of a copy on the way into the job.
class Takeover::Feed : public pipeline::FrameProducer {
 public:
  void OnRoom() override {
    absl::MutexLock lock(&mutex_);
    has_room_ = true;
  }
  void OnRefused(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    refused_ = why;
  }
  /// Returns when there is room for another frame. Errors: why the job takes no more.
  absl::Status AwaitRoom() {
    absl::MutexLock lock(&mutex_);
    const auto news = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return has_room_ || !refused_.ok();
    };
    mutex_.Await(absl::Condition(&news));
    has_room_ = false;
    return refused_;
  }

 private:
  absl::Mutex mutex_;
  bool has_room_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
};

Takeover::Takeover(ReplicaStore& store, pipeline::Engine& engine, TakeoverOptions options)
    : store_(store), engine_(engine), options_(std::move(options)), thread_([this] { Run(); }) {}

Takeover::~Takeover() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

bool Takeover::Pause(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  AwaitFor(mutex_, absl::Condition(&stopping_), duration);
  return !stopping_;
}

void Takeover::Run() {
  pthread_setname_np(pthread_self(), "iso-takeover");
  while (Pause(options_.look)) {
    const std::vector<std::string> orphans = store_.Orphans();
    std::erase_if(retries_, [&](const auto& each) {
      return std::ranges::find(orphans, each.first) == orphans.end();
    });
    for (const std::string& id : orphans) {
      if (!Pause(absl::ZeroDuration())) return;
      Retry& retry = retries_[id];
      if (SteadyNow() < retry.not_before && !store_.IsWanted(id)) continue;
      const absl::StatusOr<ReplicaStore::Replica> replica = store_.Take(id);
      if (absl::IsNotFound(replica.status())) continue;  // its node has come back
      const absl::StatusOr<bool> done =
          replica.ok() ? TakeOver(id, *replica) : absl::StatusOr<bool>(replica.status());
      if (done.ok() && *done) {
        store_.Remove(id);
        continue;
      }
      if (replica.ok()) store_.LetGo(id, done.status());
      if (!done.ok()) {
        spdlog::warn("event=takeover_failed job={} reason=\"{}\"", id, done.status().ToString());
      }
      retry.pause = std::clamp(2 * retry.pause, options_.again, options_.longest);
      retry.not_before = SteadyNow() + retry.pause;
    }
  }
}

absl::StatusOr<pipeline::AcquisitionRequest> Takeover::RequestOf(const std::string& job_id,
                                                                 const Record& record) const {
  ISO_ASSIGN_OR_RETURN(pipeline::AcquisitionRequest request, options_.decode(record.acquisition));
  request.continues_job_id = job_id;
  request.caller = record.begun_by;
  // The lost node may have made the same volume: it has to be corrected alike.
  if (!request.calibration) {
    request.is_without_calibration = true;
    request.calibration_name.clear();
    return request;
  }
  request.calibration_name = request.calibration->name;
  request.calibration_policy = jobs::CalibrationPolicy::kWarn;
  std::vector<jobs::CalibrationLabel> kept;
  if (options_.calibrations != nullptr) kept = options_.calibrations->Labels();
  const bool is_kept = std::ranges::any_of(kept, [&](const jobs::CalibrationLabel& label) {
    return label.name == request.calibration->name && label.crc32c == request.calibration->crc32c &&
           !label.withdrawn;
  });
  if (is_kept) return request;
  return absl::FailedPreconditionError(
      absl::StrCat("its frames are corrected with calibration '", request.calibration->name,
                   "', which is not kept here, or is another set, or withdrawn; add it: isocenter "
                   "calibrations add"));
}

absl::StatusOr<pipeline::Engine::Accepted> Takeover::Accept(pipeline::AcquisitionRequest request) {
  absl::StatusOr<pipeline::Engine::Accepted> answer = absl::UnknownError("");
  absl::Notification answered;
  engine_.Accept(
      std::move(request),
      [this] {
        absl::MutexLock lock(&mutex_);
        return !stopping_;
      },
      [&](absl::StatusOr<pipeline::Engine::Accepted> accepted) {
        answer = std::move(accepted);
        answered.Notify();
      });
  answered.WaitForNotification();
  return answer;
}

absl::StatusOr<bool> Takeover::TakeOver(const std::string& job_id,
                                        const ReplicaStore::Replica& replica) {
  ISO_ASSIGN_OR_RETURN(pipeline::AcquisitionRequest request, RequestOf(job_id, replica.record));
  const std::optional<jobs::UsedCalibration> calibration = request.calibration;
  ISO_ASSIGN_OR_RETURN(const pipeline::Engine::Accepted accepted, Accept(std::move(request)));
  if (accepted.is_new && !IsSame(accepted.job->request().calibration, calibration)) {
    const absl::Status why = absl::FailedPreconditionError(
        "its frames would be corrected otherwise than on the node that began it");
    (void)engine_.Cancel(job_id, why);
    return why;
  }
  const std::vector<FrameState> states = replica.frames->states();
  const auto present = std::ranges::count(states, FrameState::kPresent);
  // Its console has brought it here by itself, and under a new id where the request id was all that
  // it repeated: a second job would be a second series.
  if (accepted.job == nullptr || accepted.snapshot->id != job_id) return true;
  const auto feed = std::make_shared<Feed>();
  ISO_ASSIGN_OR_RETURN(const int64_t stream, accepted.job->AttachIfFree(feed));
  if (stream == 0) return false;  // its console is here
  spdlog::warn("event=job_taken_over job={} origin={} frames={} of={} finished={}", job_id,
               replica.record.origin.node, present, states.size(), replica.frames->finished());
  if (accepted.is_new) options_.on_taken_over();
  const absl::Status sent = Send(*accepted.job, stream, *feed, *replica.frames);
  if (!sent.ok()) {
    accepted.job->Detach(stream);
    return sent;
  }
  return AwaitWritten(*accepted.job, *replica.frames);
}

absl::Status Takeover::Send(pipeline::ReconstructionJob& job, int64_t stream, Feed& feed,
                            jobs::JobSpool& frames) {
  const std::vector<FrameState> states = frames.states();
  const std::vector<FrameState> here = job.spool()->states();
  if (here.size() != states.size()) {
    return absl::DataLossError(
        absl::StrCat("the copy has ", states.size(), " frames, and its acquisition ", here.size()));
  }
  const int64_t frame_bytes = recon::FrameBytes(job.request().acquisition);
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] != FrameState::kPresent || here[i] != FrameState::kMissing) continue;
    if (!Pause(absl::ZeroDuration())) return absl::CancelledError("the service stops");
    const auto pixels = std::make_shared<std::vector<std::byte>>(frame_bytes);
    const int index = static_cast<int>(i);
    ISO_ASSIGN_OR_RETURN(const jobs::FrameMeasurement told, frames.Read(index, *pixels));
    ISO_ASSIGN_OR_RETURN(const bool has_room,
                         job.AddFrame(stream, {.index = static_cast<uint32_t>(i),
                                               .pixels = {*pixels},
                                               .memory = pixels,
                                               .measured_matrix = told.matrix,
                                               .dose = told.dose,
                                               .phase = told.phase}));
    if (!has_room) ISO_RETURN_IF_ERROR(feed.AwaitRoom());
  }
  // The record comes after the last frame and gap: what is missing then was given up by the lost
  // node, and is by this one. Else the rest may still come, here or elsewhere.
  if (frames.finished()) return job.FinishInput(stream);
  job.Detach(stream);
  return absl::OkStatus();
}

bool Takeover::AwaitWritten(const pipeline::ReconstructionJob& job, jobs::JobSpool& frames) {
  constexpr absl::Duration kBetweenLooks = absl::Milliseconds(20), kLongest = absl::Seconds(30);
  const std::vector<FrameState> states = frames.states();
  const auto is_written = [&] {
    const std::vector<FrameState> here = job.spool()->states();
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i] == FrameState::kPresent && here[i] == FrameState::kMissing) return false;
    }
    return true;
  };
  const absl::Time until = SteadyNow() + kLongest;
  while (!is_written()) {
    if (SteadyNow() > until || !Pause(kBetweenLooks)) return false;
  }
  return true;
}

}  // namespace isocenter::replicas
