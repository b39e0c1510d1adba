#include "server/scheduler/lane_executor.h"

#include <pthread.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace isocenter::scheduler {

LaneExecutor::LaneExecutor(const std::string& thread_name, absl::Duration ageing,
                           std::function<absl::Time()> clock)
    : ageing_(ageing), clock_(std::move(clock)) {
  thread_ = std::thread([this] { Work(); });
  pthread_setname_np(thread_.native_handle(), thread_name.c_str());
}

LaneExecutor::~LaneExecutor() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

std::shared_ptr<LaneExecutor::Lane> LaneExecutor::NewLane(const Urgency& urgency) {
  return std::shared_ptr<Lane>(new Lane(*this, urgency));
}

void LaneExecutor::Lane::Submit(Unit unit) {
  absl::MutexLock lock(&executor_.mutex_);
  units_.push_back(std::move(unit));
  ++executor_.waiting_;
  if (units_.size() > 1) return;
  waiting_since_ = executor_.clock_();
  executor_.ready_.push_back(shared_from_this());
}

void LaneExecutor::Lane::Clear() {
  std::deque<Unit> dropped;  // destroyed after the lock is given back: a unit may own anything
  absl::MutexLock lock(&executor_.mutex_);
  dropped.swap(units_);
  executor_.waiting_ -= static_cast<int64_t>(dropped.size());
  std::erase(executor_.ready_, shared_from_this());
}

int64_t LaneExecutor::queue_depth() const {
  absl::MutexLock lock(&mutex_);
  return waiting_;
}

absl::Time LaneExecutor::OverdueFrom(const Lane& lane) const {
  return lane.waiting_since_ + (static_cast<int>(lane.urgency_.job_class) + 1) * ageing_;
}

size_t LaneExecutor::Next() const {
  const auto key = [](const Lane& lane) {
    return std::tie(lane.urgency_.job_class, lane.urgency_.deadline);
  };
  // The first of equal ones, so that they take turns.
  const auto best =
      std::min_element(ready_.begin(), ready_.end(),
                       [&](const auto& a, const auto& b) { return key(*a) < key(*b); });
  const auto oldest = std::min_element(
      ready_.begin(), ready_.end(),
      [&](const auto& a, const auto& b) { return OverdueFrom(*a) < OverdueFrom(*b); });
  const jobs::JobClass best_class = (*best)->urgency_.job_class;
  const bool may_pass = (*oldest)->urgency_.job_class == best_class || last_class_ <= best_class;
  const auto next = may_pass && OverdueFrom(**oldest) <= clock_() ? oldest : best;
  return next - ready_.begin();
}

void LaneExecutor::Work() {
  std::shared_ptr<Lane> lane;  // the one that was served last
  while (true) {
    Unit unit;
    {
      absl::MutexLock lock(&mutex_);
      if (lane != nullptr) lane->waiting_since_ = clock_();
      auto wake = [this]()
                      ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !ready_.empty(); };
      mutex_.Await(absl::Condition(&wake));
      if (ready_.empty()) return;
      const size_t next = Next();
      lane = std::move(ready_[next]);
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(next));
      unit = std::move(lane->units_.front());
      lane->units_.pop_front();
      --waiting_;
      last_class_ = lane->urgency_.job_class;
      if (!lane->units_.empty()) ready_.push_back(lane);
    }
    unit();
  }
}

}  // namespace isocenter::scheduler
