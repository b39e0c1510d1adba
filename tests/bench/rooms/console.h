// A simulated console: one acquisition of noise, sent as an arm would expose it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "isocenter/v1/acquisition.pb.h"
#include "tests/bench/rooms/distribution.h"
#include "tests/bench/rooms/pacs_probe.h"

namespace isocenter::bench {

/// Jobs that consoles have under way. Thread-safe.
class RunningJobs {
 public:
  void Add(const client::ServiceChannel& channel, const std::string& job_id);
  void Remove(const std::string& job_id);
  /// Cancels them all, and each that is added from now on. How many were cancelled; what cannot be
  /// cancelled is told on stderr.
  int CancelAll();

 private:
  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, client::ServiceChannel> jobs_ ABSL_GUARDED_BY(mutex_);
};

struct ConsoleSettings {
  v1::AcquisitionHeader header;
  double fps = 0;            // 0: as fast as the server takes them
  bool wait_results = true;  // false: cancel the job when the server has all frames
  const PacsProbe* pacs = nullptr;
  RunningJobs* running = nullptr;
};

enum class Outcome { kCompleted, kRefused, kFailed };

/// Seconds of the machine's monotonic clock.
double MonotonicSeconds();

/// The acquisition went on at another node. Times of MonotonicSeconds.
struct Move {
  std::string node;
  double accepted = 0;
  std::optional<double> first_acknowledged;  // of the frames that no node had acknowledged before
};

/// What one acquisition met. Times are seconds; unset: not reached, or not asked for.
struct AcquisitionRecord {
  Outcome outcome = Outcome::kFailed;
  std::string error;  // unless completed
  std::string job_id, series_instance_uid;
  std::string first_node, node;  // empty: there is no choice
  std::vector<Move> moves;
  double due = 0, begun = 0, ended = 0;        // of MonotonicSeconds, as the next two
  std::optional<double> accepted, last_frame;  // the last frame was handed in
  int64_t frames_sent = 0;
  int64_t bytes_sent = 0;
  int64_t frames_unacknowledged = 0;     // of those sent
  int64_t frames_missing_in_result = 0;  // of those acknowledged
  int64_t reconnects = 0;
  Distribution acknowledge_seconds;           // per frame, from when it was due (fps) or handed in
  std::optional<double> volume_seconds;       // last frame to volume, by the server's clock
  std::optional<double> volume_seconds_here;  // the same until this side was told
  std::optional<double> stored_seconds;       // last frame to result, by this side's clock
  std::optional<double> found_seconds;        // last frame to found in the PACS
  double voxel_updates = 0;
  double kernel_gups = 0;
  double whole_gups = 0;
};

/// `noise`: frames of the header's size, sent in turn. `due`: when it was to begin, of
/// MonotonicSeconds.
AcquisitionRecord RunAcquisition(const client::ServiceChannel& channel,
                                 const ConsoleSettings& settings,
                                 const std::vector<std::vector<std::byte>>& noise, double due);

}  // namespace isocenter::bench
