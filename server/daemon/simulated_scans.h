// Scans that the service sends itself, for who has no console at hand.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/config/protocol_book.h"
#include "server/http/simulator.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/engine.h"

namespace isocenter::daemon {

/// A head phantom before a small C-arm. Its frames come one by one at the speed of an arm, through
/// the acceptance, the spool and the stages of every acquisition; another one begins when the last
/// has ended. Thread-safe.
class SimulatedScans : public http::Simulator {
 public:
  static constexpr double kFramesPerSecond = 20;

  /// All must outlive this.
  SimulatedScans(const config::ProtocolBook& protocols, const jobs::JobTable& table,
                 pipeline::Engine& engine, double frames_per_second = kFramesPerSecond)
      : protocols_(protocols),
        table_(table),
        engine_(engine),
        frames_per_second_(frames_per_second) {}
  ~SimulatedScans() override { Stop(); }
  SimulatedScans(const SimulatedScans&) = delete;
  SimulatedScans& operator=(const SimulatedScans&) = delete;

  void Begin(const std::string& by, Done done) override;
  /// Begins none any more. One that is under way fails, and says why.
  void Stop();

 private:
  /// Errors: FAILED_PRECONDITION.
  absl::Status Enter();
  void OnAccepted(absl::StatusOr<pipeline::Engine::Accepted> accepted, const Done& done);
  void Send(const std::shared_ptr<pipeline::ReconstructionJob>& job);
  /// Whether to go on, when the time of the next frame has come.
  bool AwaitTurn(absl::Time turn);

  const config::ProtocolBook& protocols_;
  const jobs::JobTable& table_;
  pipeline::Engine& engine_;
  const double frames_per_second_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;   // the engine has not answered
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;  // frames
  std::string last_ ABSL_GUARDED_BY(mutex_);      // job id; empty: none yet
  std::thread sender_ ABSL_GUARDED_BY(mutex_);    // of the last one
};

}  // namespace isocenter::daemon
