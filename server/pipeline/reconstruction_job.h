// The path of one job: frames, spool, chunks, volume, stored result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/active_job.h"
#include "server/pipeline/frames/frame_ledger.h"
#include "server/pipeline/frames/frame_monitor.h"
#include "server/pipeline/frames/told_phases.h"
#include "server/pipeline/runs/reconstruction_run.h"

namespace isocenter::pipeline {

class ReconstructionJob;

/// Where a job's frames come from: the stream of a console. Called from any thread; must be quick.
class FrameProducer {
 public:
  virtual ~FrameProducer() = default;
  /// AddFrame had answered "no room", and there is room again.
  virtual void OnRoom() = 0;
  /// The job takes nothing more from this producer. ABORTED: another one has taken over. DATA_LOSS:
  /// a frame was damaged on its way and is to be sent again. UNAVAILABLE: the service stops.
  virtual void OnRefused(const absl::Status& why) = 0;
};

/// A console whose stream has ended before all was sent.
struct AbsentConsole {
  absl::Duration limit;  // how long its job waits for it
  /// It may have gone on at another node, which makes the volume of all frames under the same UIDs:
  /// what is good enough here is not to be completed.
  bool may_be_elsewhere = false;
  /// The node that has this job again, which this one had taken over from it; nothing: none has.
  std::function<std::optional<std::string>()> handed_back_to;
};

/// What acquisitions need beyond what every job does. Called from any thread.
class AcquisitionKeeper {
 public:
  virtual ~AcquisitionKeeper() = default;
  /// The first frame is in the spool. Once for each start of the service.
  virtual void OnFirstFrame(ReconstructionJob& job) = 0;
  /// So many frames at the beginning are in the spool, and none of them has been given up. While
  /// that is so, after each frame.
  virtual void OnFrames(ReconstructionJob& job, int present) = 0;
  /// The job's volume is in the host's memory, made of all frames. Again, where its device was lost
  /// before it was stored.
  virtual void OnVolumeComplete(ReconstructionJob& job) = 0;
  /// Calls `then` when it is known, as far as it ever will be, whose volume the job's is: now, or
  /// from another thread.
  virtual void WhenIdentified(ReconstructionJob& job, std::function<void()> then) = 0;
  /// The job's volume is stored; next it is COMPLETED.
  virtual void OnStored(ReconstructionJob& job, const jobs::StoredSeries& stored) = 0;
  /// The job has ended, and its memory is free. Once.
  virtual void OnEnded(ReconstructionJob& job) = 0;
};

/// One admitted acquisition. Frames go into the spool as they come, whatever the devices do; chunks
/// of them are read back and computed when their turn comes. Thread-safe.
class ReconstructionJob : public ActiveJob {
 public:
  /// `acquisitions` outlives the job. Its deadline counts from `accepted_time`.
  ReconstructionJob(std::string id, AcquisitionRequest request, const VolumeGrid& grid,
                    std::shared_ptr<jobs::JobSpool> spool, absl::Time accepted_time,
                    const JobEnvironment& environment, AcquisitionKeeper& acquisitions,
                    const AbsentConsole& absent);

  const AcquisitionRequest& request() const { return request_; }
  const std::shared_ptr<jobs::JobSpool>& spool() const { return spool_; }
  int frames() const { return static_cast<int>(request_.acquisition.trajectory.size()); }

  /// Begins to compute, from the first frame. Without effect when the job has ended.
  void StartRun(std::shared_ptr<ReconstructionRun> run);
  std::shared_ptr<ReconstructionRun> run() const {
    return std::static_pointer_cast<ReconstructionRun>(ActiveJob::run());
  }

  /// A stream takes the job over; the one before, if any, is refused. Returns the number that
  /// AddFrame wants, from 1. Errors: that with which the job has ended.
  absl::StatusOr<int64_t> Attach(std::weak_ptr<FrameProducer> producer);
  /// The same where no other stream has the job; else 0, and the producer is told only when the
  /// service stops. It may attach later.
  absl::StatusOr<int64_t> AttachIfFree(std::weak_ptr<FrameProducer> producer);
  /// Whether a frame could be one of this acquisition. Errors: INVALID_ARGUMENT (index, payload,
  /// measured matrix, a phase that not all frames tell), naming the value and what is legal.
  /// Line integrals that no beam gives are AddFrame's to judge.
  absl::Status CheckFrame(const Frame& frame) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Checks a frame and sends it to the spool. True when there is room for the next, false when the
  /// caller must wait for OnRoom. An error ends the stream: by Reject, or by Detach. Errors:
  /// CheckFrame's, FAILED_PRECONDITION (after the end of input), ABORTED (not the newest stream),
  /// that with which the job has ended.
  absl::StatusOr<bool> AddFrame(int64_t stream, Frame frame);
  /// The console has sent all. What is missing is given up or ends the job, as the protocol says.
  absl::Status FinishInput(int64_t stream);
  /// The console has gone. The job waits for another stream until console_deadline.
  void Detach(int64_t stream);
  /// Detach, of a console that will send nothing more but listens: it is still told of frames that
  /// cannot be taken. What is missing then, frames that are being written not counted.
  struct Absence {
    int missing = 0;        // 0: nothing is waited for
    int first_missing = 0;  // the lowest that has not been acknowledged
    absl::Duration limit;   // how long they are waited for
  };
  Absence EndSending(int64_t stream);
  /// What a stream sent cannot be taken, and the stream ends (Detach): the job waits for one that
  /// sends it right. It ends as FAILED where the console that `began` it has contradicted itself
  /// (two frames of one index), so that nobody knows which of its frames are right, or where no
  /// frame would be lost with it (docs/adr/0154-an-illegal-frame-ends-its-stream.md).
  void Reject(int64_t stream, const absl::Status& why, bool began);

  /// Frames at the beginning that are in the spool (or given up), and those beyond the first that
  /// is missing.
  struct Input {
    int present = 0;
    int lost = 0;
    int prefix = 0;
    std::vector<FrameRange> beyond;
  };
  Input input() const;
  /// Until when, of SteadyNow, the job waits for its console; InfiniteFuture while it does not.
  absl::Time console_deadline() const;
  /// Has the table say until when the job waits for its console, or that it does not.
  void TellConsoleDeadline() ABSL_LOCKS_EXCLUDED(tell_mutex_, mutex_);

  bool gives_way() const override { return false; }
  void SeekRun(RunMaker& runs) override;
  std::string BeginsAgain() const override {
    return "a device failed; the job is computed again from its frames";
  }
  /// Whose console did not come back by console_deadline.
  absl::Time EndIfOverdue() override;

 private:
  absl::StatusOr<Output> OutputOf(Run* run) override;
  void OnStored(const jobs::StoredSeries& stored) override {
    acquisitions_.OnStored(*this, stored);
  }
  Change Summary(absl::Time stored_at) override;
  void OnSuspended(const absl::Status& why) override;
  void OnEnded() override { acquisitions_.OnEnded(*this); }

  int64_t AttachNow(std::weak_ptr<FrameProducer> producer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// The measured matrix of a frame that could be one of this acquisition. Errors: CheckFrame's.
  absl::StatusOr<std::optional<ProjectionMatrix>> MatrixOf(const Frame& frame) const;
  absl::StatusOr<jobs::SpoolFrame> CheckedFrame(Frame frame) const;
  /// A frame that comes again, as of a stream that goes on with the job, is that which the job has.
  absl::Status CheckSame(int index, std::optional<uint32_t> crc32c,
                         const std::vector<std::span<const std::byte>>& pixels) const;
  /// The index behind the last, of a stream that sent no frame 0: it contradicts its header.
  absl::Status CheckCountsFromZero(int64_t stream, uint32_t index);
  /// CheckSame, and notes where a stream contradicts itself.
  absl::Status CheckRepeated(int64_t stream, const jobs::SpoolFrame& frame);
  /// Counts a checked frame, which is written next, and says whether there is room for another.
  struct Intake {
    FrameLedger::Taken taken = FrameLedger::Taken::kNew;
    bool has_room = true;
  };
  absl::StatusOr<Intake> TakeIn(int64_t stream, const jobs::SpoolFrame& frame, absl::Time came);
  /// A frame that has too many illegal line integrals counts as missing. Errors: those of AddFrame,
  /// INVALID_ARGUMENT (more are lost than the job tolerates).
  absl::Status LeaveOut(int64_t stream, const jobs::SpoolFrame& frame,
                        const recon::IllegalLines& illegal);
  void OnAppended(int64_t stream, int index, absl::Time came, const absl::Status& status);
  /// A frame is in the spool, which has what `input` says.
  absl::Status OnCommitted(const std::vector<int>& overdue, const Input& input);
  /// Records frames as lost. `why`: they have come, but cannot be used. Errors: the spool's.
  absl::Status GiveUp(const std::vector<int>& indices, absl::string_view why = "");
  /// The end of input was announced, or all frames are here: nothing more will be waited for.
  void CloseInput();
  /// Of what its frames as a whole show, once all have come; and says what could not be checked.
  void WarnOfScan();
  /// Of what the complete volume shows, once. `hounsfield`: [z][y][x].
  void WarnOfVolume(HostView3<const float> hounsfield);
  /// Until when the place of this job is taken, for those who are refused one.
  void TellExpectedEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(tell_mutex_);
  /// The console did not come back in time.
  void GiveUpConsole();
  /// Nobody sees a later state before this one. Once.
  void EnterReconstructing();

  void Schedule();
  using Sources = std::vector<ViewSource>;
  void ComputeChunk(const std::shared_ptr<ReconstructionRun>& run, const Sources& sources);
  absl::Status TryChunk(ReconstructionRun& run, const Sources& sources);
  void FinishVolume(const std::shared_ptr<ReconstructionRun>& run, bool first);
  void CompleteVolume(const std::shared_ptr<ReconstructionRun>& run);
  /// Between the first and the last frame that came in this process.
  double AcquisitionSeconds() const;

  const AcquisitionRequest request_;
  const std::shared_ptr<jobs::JobSpool> spool_;
  AcquisitionKeeper& acquisitions_;
  const AbsentConsole absent_;

  absl::once_flag reconstructing_;

  absl::Mutex monitor_mutex_;
  FrameMonitor monitor_ ABSL_GUARDED_BY(monitor_mutex_);

  enum class InputState {
    kOpen,
    kAnnounced,  // the console has said that it sent all, or is not waited for any longer
    kClosed      // and what is missing has been given up
  };
  InputState input_ ABSL_GUARDED_BY(mutex_) = InputState::kOpen;
  FrameLedger ledger_ ABSL_GUARDED_BY(mutex_);
  ToldPhases phases_ ABSL_GUARDED_BY(mutex_);
  int64_t stream_ ABSL_GUARDED_BY(mutex_) = 0;  // of the newest
  std::weak_ptr<FrameProducer> producer_ ABSL_GUARDED_BY(mutex_);
  std::weak_ptr<FrameProducer> sent_all_ ABSL_GUARDED_BY(mutex_);        // EndSending, of stream_
  std::weak_ptr<FrameProducer> waits_for_room_ ABSL_GUARDED_BY(mutex_);  // producer_, or nobody
  std::vector<std::weak_ptr<FrameProducer>> listeners_ ABSL_GUARDED_BY(mutex_);  // not attached
  absl::Status rejected_ ABSL_GUARDED_BY(mutex_);  // why the last stream ended; OK: otherwise
  bool contradicts_itself_ ABSL_GUARDED_BY(mutex_) = false;  // the stream: which frame is which
  int appends_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time console_deadline_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  /// What the table says of it: whoever tells it last has read it last.
  absl::Mutex tell_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  absl::Time told_deadline_ ABSL_GUARDED_BY(tell_mutex_) = absl::InfiniteFuture();
  absl::Time first_frame_time_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Time last_frame_time_ ABSL_GUARDED_BY(mutex_);
  size_t chunks_scheduled_ ABSL_GUARDED_BY(mutex_) = 0;  // of run_
};

}  // namespace isocenter::pipeline
