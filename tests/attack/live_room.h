// A room that scans as long as the attack goes on, and remembers how well it was served.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/attack/target.h"

namespace isocenter::testing {

class LiveRoom {
 public:
  struct Served {
    int scans = 0;                        // that ended in a volume which is right in every bit
    std::vector<double> acknowledged_ms;  // from sending a frame to its acknowledgement
    std::vector<std::string> failures;
  };

  /// Scans with 10 frames a second, one scan after the other. `target` must outlive the room.
  LiveRoom(const Target& target, std::string name);
  ~LiveRoom();
  LiveRoom(const LiveRoom&) = delete;
  LiveRoom& operator=(const LiveRoom&) = delete;

  /// Ends after the scan that is under way.
  Served Stop();
  int scans() const;

 private:
  void Run();
  absl::Status Scan(int number);

  const Target& target_;
  const std::string name_;
  std::atomic<bool> stopped_ = false;
  mutable absl::Mutex mutex_;
  Served served_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace isocenter::testing
