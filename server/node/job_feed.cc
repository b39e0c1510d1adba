#include "server/node/job_feed.h"

#include <pthread.h>

#include "absl/time/clock.h"
#include "kernels/base/steady_clock.h"

namespace isocenter::node {
namespace {

constexpr absl::Duration kBetweenBatches = absl::Milliseconds(200);
constexpr absl::Duration kRateSpan = absl::Seconds(3);

}  // namespace

JobFeed::JobFeed(jobs::JobTable& table) : table_(table) {
  subscription_ = table.SubscribeAll([inbox = inbox_](const std::string& id) {
    absl::MutexLock lock(&inbox->mutex);
    inbox->changed.insert(id);
  });
  thread_ = std::thread([this] { Run(); });
}

JobFeed::~JobFeed() {
  Stop();
  subscription_ = {};
  thread_.join();
}

void JobFeed::Stop() {
  {
    absl::MutexLock lock(&inbox_->mutex);
    inbox_->stopping = true;
  }
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

bool JobFeed::stopped() const {
  absl::MutexLock lock(&mutex_);
  return stopped_;
}

void JobFeed::Run() {
  pthread_setname_np(pthread_self(), "iso-feed");
  while (true) {
    std::set<std::string> changed;
    {
      absl::MutexLock lock(&inbox_->mutex);
      auto news = [this]() ABSL_SHARED_LOCKS_REQUIRED(inbox_->mutex) {
        return inbox_->stopping || !inbox_->changed.empty();
      };
      inbox_->mutex.Await(absl::Condition(&news));
      if (inbox_->stopping) return;
      changed.swap(inbox_->changed);
    }
    {
      const absl::Time now = absl::Now();
      absl::MutexLock lock(&mutex_);
      for (const std::string& id : changed) {
        absl::StatusOr<jobs::JobSnapshot> job = table_.Get(id);
        if (job.ok()) {
          NoteProgress(**job, now);
          Publish({.kind = FeedEvent::Kind::kJob, .job_id = id, .job = *std::move(job)});
        } else {
          receiving_.erase(id);
          Publish({.kind = FeedEvent::Kind::kJobRemoved, .job_id = id});
        }
      }
    }
    // A frame changes its job: what comes within a batch's time is told together.
    absl::MutexLock lock(&inbox_->mutex);
    AwaitFor(inbox_->mutex, absl::Condition(&inbox_->stopping), kBetweenBatches);
  }
}

void JobFeed::OnNodeChanged() {
  absl::MutexLock lock(&mutex_);
  Publish({.kind = FeedEvent::Kind::kNode});
}

void JobFeed::Publish(FeedEvent event) {
  event.number = ++newest_;
  int64_t& last = last_of_job_[event.job_id];
  events_.erase(last);
  last = event.number;
  events_.emplace(event.number, std::move(event));
  while (events_.size() > kEventsKept) {
    const auto oldest = events_.begin();
    forgotten_ = oldest->first;
    last_of_job_.erase(oldest->second.job_id);
    events_.erase(oldest);
  }
}

int64_t JobFeed::newest() const {
  absl::MutexLock lock(&mutex_);
  return newest_;
}

bool JobFeed::Knows(int64_t number) const {
  absl::MutexLock lock(&mutex_);
  return number >= forgotten_ && number <= newest_;
}

std::vector<FeedEvent> JobFeed::Read(int64_t number, absl::Time deadline) const {
  std::vector<FeedEvent> events;
  absl::MutexLock lock(&mutex_);
  auto news = [this, number]()
                  ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopped_ || newest_ > number; };
  AwaitFor(mutex_, absl::Condition(&news), deadline - SteadyNow());
  if (stopped_) return events;
  for (auto event = events_.upper_bound(number); event != events_.end(); ++event) {
    events.push_back(event->second);
  }
  return events;
}

void JobFeed::NoteProgress(const jobs::Job& job, absl::Time now) {
  if (job.state != jobs::JobState::kReceiving) {
    receiving_.erase(job.id);
    return;
  }
  std::deque<Progress>& progress = receiving_[job.id];
  progress.push_back({now, job.progress.frames_received});
  while (progress.size() > 2 && now - progress.front().time > kRateSpan) progress.pop_front();
}

std::optional<double> JobFeed::FramesPerSecond(const std::string& job_id) const {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex_);
  const auto found = receiving_.find(job_id);
  if (found == receiving_.end()) return std::nullopt;
  const std::deque<Progress>& progress = found->second;
  const absl::Duration span = now - progress.front().time;
  if (progress.size() < 2 || span <= absl::ZeroDuration()) return std::nullopt;
  return (progress.back().frames - progress.front().frames) / absl::ToDoubleSeconds(span);
}

}  // namespace isocenter::node
