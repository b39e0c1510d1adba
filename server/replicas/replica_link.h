// Sends the frames of one job to the keeper, and says when they are there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/replicas/keeper.h"

namespace isocenter::replicas {

/// What the links of all jobs share; outlives them.
struct LinkEnvironment {
  Keeper& keeper;
  Origin origin;
  std::string keeper_node;
  /// A frame that the keeper has not taken for so long is acknowledged without it.
  absl::Duration patience = absl::Seconds(2);
  /// Between two attempts to reach the keeper; it doubles up to the second.
  absl::Duration first_pause = absl::Milliseconds(500), longest_pause = absl::Seconds(10);
  /// Whose job it is (jobs::Job::begun_by). Errors: NOT_FOUND (not in the table yet),
  /// FAILED_PRECONDITION (it has ended).
  std::function<absl::StatusOr<std::string>(const std::string& job_id)> begun_by;
  /// The frames of a job are on this node's disk alone from now on, and why. From any thread;
  /// before any of them is acknowledged so.
  std::function<void(const std::string& job_id, const std::string& why)> on_lost;
};

/// Frames are read back from this node's own spool, with their checksums verified: what is new,
/// what the keeper has lost and what a broken stream has left are one path. Thread-safe.
class ReplicaLink {
 public:
  using Done = std::function<void(absl::Status)>;

  /// Sends what `frames` has, and what is added.
  ReplicaLink(std::string job_id, std::shared_ptr<jobs::JobSpool> frames, int64_t frame_bytes,
              const LinkEnvironment& environment);
  /// Not from a thread that runs a `done`.
  ~ReplicaLink();
  ReplicaLink(const ReplicaLink&) = delete;
  ReplicaLink& operator=(const ReplicaLink&) = delete;

  /// A frame is in this node's spool. Calls `done` when the keeper has it, too, or is not waited
  /// for: then `on_lost` was told. At once, or from another thread.
  void Add(int index, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  /// A gap is recorded here; nobody waits for it.
  void AddGap(int index) ABSL_LOCKS_EXCLUDED(mutex_);
  /// All frames and gaps have been added.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);
  /// Whoever waits is answered when his patience has ended; to be called several times a second.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  /// Nothing more is sent; everybody who waits is answered. Does not wait for anybody.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  /// Some of the frames are on this node's disk alone, and nobody waits for the keeper.
  bool is_degraded() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_ended() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class State : uint8_t { kNotHere, kToSend, kSent, kKept };
  struct Waiting {
    int index;
    absl::Time since;  // SteadyNow
    Done done;
  };

  void Run();
  /// One stream, until it ends. Errors: why it did.
  absl::Status Serve(const std::shared_ptr<ReplicaStream>& stream, const ReplicaHeader& header);
  /// Errors: begun_by's.
  absl::StatusOr<ReplicaHeader> Header();
  void Begin(const std::vector<bool>& has);
  absl::Status SendAll(ReplicaStream& stream);
  absl::Status Send(ReplicaStream& stream, int index);
  /// The next frame to send; -1: finish is due. Nothing: the stream or the link has ended.
  std::optional<int> Next();
  void OnKept(int index);
  void Degrade(const std::string& why);
  bool Pause(absl::Duration duration);
  static void Answer(std::vector<Waiting> waiting);
  /// Of frames that the keeper has.
  std::vector<Waiting> TakeKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// The keeper is waited for again when it has all frames, some time after it was given up.
  void TrustAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Waiting> TakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllKept() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int NextToSend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string job_id_;
  const int64_t frame_bytes_;
  const LinkEnvironment& environment_;
  const std::shared_ptr<jobs::JobSpool> frames_;  // of this node
  mutable absl::Mutex mutex_;
  std::vector<State> states_ ABSL_GUARDED_BY(mutex_);
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // in the order in which they came
  std::shared_ptr<ReplicaStream> stream_ ABSL_GUARDED_BY(mutex_);
  bool is_broken_ ABSL_GUARDED_BY(mutex_) = false;     // the stream
  bool is_degrading_ ABSL_GUARDED_BY(mutex_) = false;  // on_lost is being told
  bool is_degraded_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time degraded_since_ ABSL_GUARDED_BY(mutex_);  // of SteadyNow
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool finish_sent_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace isocenter::replicas
