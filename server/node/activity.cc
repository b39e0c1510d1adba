#include "server/node/activity.h"

#include <algorithm>

namespace isocenter::node {

void ActivitySample::Join(const ActivitySample& later) {
  end = later.end;
  seconds += later.seconds;
  frames += later.frames;
  bytes += later.bytes;
  completed_jobs += later.completed_jobs;
  failed_jobs += later.failed_jobs;
  refused += later.refused;
  active_jobs = std::max(active_jobs, later.active_jobs);
  queue_chunks = std::max(queue_chunks, later.queue_chunks);
  acquisitions += later.acquisitions;
  kernel_gups_sum += later.kernel_gups_sum;
  whole_gups_sum += later.whole_gups_sum;
  longest_seconds_after_last_frame =
      std::max(longest_seconds_after_last_frame, later.longest_seconds_after_last_frame);
}

void Activity::OnFrame(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  ++current_.frames;
  current_.bytes += bytes;
}

void Activity::OnJobEnded(const jobs::Job& job) {
  absl::MutexLock lock(&mutex_);
  if (job.state == jobs::JobState::kFailed) ++current_.failed_jobs;
  if (job.state != jobs::JobState::kCompleted) return;
  ++current_.completed_jobs;
  if (!jobs::IsAcquisition(job)) return;
  ++current_.acquisitions;
  current_.kernel_gups_sum += job.result.kernel_gups;
  current_.whole_gups_sum += job.result.whole_gups;
  current_.longest_seconds_after_last_frame =
      std::max(current_.longest_seconds_after_last_frame, job.result.seconds_after_last_frame);
}

void Activity::OnRefused(const absl::Status& why, const std::string& station_name, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  ++current_.refused;
  refusals_.push_front({now, absl::Status(why.code(), why.message().substr(0, kLongestReason)),
                        station_name.substr(0, kLongestStation)});
  if (refusals_.size() > kRefusals) refusals_.pop_back();
}

void Activity::OnLoad(int active_jobs, int64_t queue_chunks) {
  absl::MutexLock lock(&mutex_);
  current_.active_jobs = std::max(current_.active_jobs, active_jobs);
  current_.queue_chunks = std::max(current_.queue_chunks, queue_chunks);
}

void Activity::EndStep(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (now - step_begin_ < kStep) return;
  current_.end = now;
  current_.seconds = absl::ToDoubleSeconds(now - step_begin_);
  samples_.push_back(current_);
  if (samples_.size() > kSamples) samples_.pop_front();
  current_ = {};
  step_begin_ = now;
}

std::vector<ActivitySample> Activity::History(absl::Time now, absl::Duration span,
                                              int points) const {
  absl::MutexLock lock(&mutex_);
  const auto first = std::ranges::find_if(
      samples_, [&](const ActivitySample& sample) { return sample.end > now - span; });
  const auto wanted = static_cast<int64_t>(span / kStep);
  const int64_t together = std::max<int64_t>(1, (wanted + points - 1) / points);
  std::vector<ActivitySample> history;
  int64_t joined = together;
  for (auto sample = first; sample != samples_.end(); ++sample) {
    if (joined == together) {
      history.push_back(*sample);
      joined = 1;
    } else {
      history.back().Join(*sample);
      ++joined;
    }
  }
  return history;
}

std::vector<Refusal> Activity::Refusals() const {
  absl::MutexLock lock(&mutex_);
  return {refusals_.begin(), refusals_.end()};
}

}  // namespace isocenter::node
