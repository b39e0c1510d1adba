// A console that streams the scan on a thread of its own, whatever happens to its server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/acquisition_stream.h"
#include "isocenter/v1/acquisition.pb.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::testing {

struct ScanConsoleOptions {
  absl::Duration between_frames = absl::Milliseconds(1);
  /// Frames from this one on are not sent before Continue().
  int stop_before = 1 << 20;
};

/// Reconnects as the client library does. An admission that breaks is repeated with the same
/// header, whose request id makes sure that there is one job.
class ScanConsole {
 public:
  /// What the server has told the console so far.
  struct Told {
    std::string job_id;  // empty until the scan was accepted
    std::set<int> acknowledged;
    v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
    int contacts = 0;       // accepted, and taken up again
    int interruptions = 0;  // it has heard all that a server had sent before it ended
    std::optional<absl::Status> ended;
    v1::JobResult result;
  };

  ScanConsole(int port, const v1::AcquisitionHeader& header, ScanConsoleOptions options = {});
  /// Breaks off what is under way.
  ~ScanConsole();
  ScanConsole(const ScanConsole&) = delete;
  ScanConsole& operator=(const ScanConsole&) = delete;

  Told told() const;
  /// Waits until `wanted` holds or the scan has ended; false when neither came in time.
  bool Await(const std::function<bool(const Told&)>& wanted,
             absl::Duration patience = absl::Seconds(120)) const;
  void Continue();

 private:
  void Run();
  absl::StatusOr<v1::JobResult> Stream();
  absl::StatusOr<std::unique_ptr<client::AcquisitionStream>> Open();
  void WaitBefore(int frame);

  const int port_;
  const v1::AcquisitionHeader header_;
  const ScanConsoleOptions options_;

  mutable absl::Mutex mutex_;
  Told told_ ABSL_GUARDED_BY(mutex_);
  bool may_continue_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<client::AcquisitionStream> stream_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace isocenter::testing
