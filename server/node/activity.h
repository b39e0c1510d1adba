// What the server did over the last day, for plots.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/job.h"

namespace isocenter::node {

/// What happened in one step of time. Means are over what was measured; empty: nothing was.
struct ActivitySample {
  absl::Time end;
  double seconds = 0;  // its length
  int64_t frames = 0, bytes = 0;
  int completed_jobs = 0, failed_jobs = 0, refused = 0;
  int active_jobs = 0;       // the most
  int64_t queue_chunks = 0;  // the most
  int acquisitions = 0;      // that completed; of these:
  double kernel_gups_sum = 0, whole_gups_sum = 0;
  double longest_seconds_after_last_frame = 0;

  std::optional<double> kernel_gups() const {
    return acquisitions == 0 ? std::nullopt : std::optional(kernel_gups_sum / acquisitions);
  }
  std::optional<double> whole_gups() const {
    return acquisitions == 0 ? std::nullopt : std::optional(whole_gups_sum / acquisitions);
  }
  std::optional<double> seconds_after_last_frame() const {
    return acquisitions == 0 ? std::nullopt : std::optional(longest_seconds_after_last_frame);
  }
  /// As one step that ends where `later` does.
  void Join(const ActivitySample& later);
};

/// An acquisition that got no job.
struct Refusal {
  absl::Time time;
  absl::Status why;
  std::string station_name;  // as the room named itself; empty where it had not yet
};

/// Counts, and keeps samples of a day. Memory is bounded: about 1 MB. Thread-safe.
class Activity {
 public:
  static constexpr absl::Duration kStep = absl::Seconds(10);
  static constexpr size_t kSamples = 24 * 360;
  static constexpr size_t kRefusals = 10;
  static constexpr size_t kLongestReason = 500;  // of a refusal, in bytes; the rest is cut off
  static constexpr size_t kLongestStation = 64;  // likewise

  explicit Activity(absl::Time start) : step_begin_(start) {}

  void OnFrame(int64_t bytes);
  void OnJobEnded(const jobs::Job& job);
  void OnRefused(const absl::Status& why, const std::string& station_name, absl::Time now);
  /// How much there is to do at this moment.
  void OnLoad(int active_jobs, int64_t queue_chunks);
  /// Ends the current step if it is long enough.
  void EndStep(absl::Time now);

  /// The last `span`, oldest first, joined to at most `points` steps of equal length.
  std::vector<ActivitySample> History(absl::Time now, absl::Duration span, int points) const;
  /// The last kRefusals, newest first.
  std::vector<Refusal> Refusals() const;

 private:
  mutable absl::Mutex mutex_;
  absl::Time step_begin_ ABSL_GUARDED_BY(mutex_);
  ActivitySample current_ ABSL_GUARDED_BY(mutex_);
  std::deque<ActivitySample> samples_ ABSL_GUARDED_BY(mutex_);
  std::deque<Refusal> refusals_ ABSL_GUARDED_BY(mutex_);  // newest first
};

}  // namespace isocenter::node
