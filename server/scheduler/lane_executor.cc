#include "server/scheduler/lane_executor.h"

#include <pthread.h>

#include <utility>

namespace isocenter::scheduler {

LaneExecutor::LaneExecutor(const std::string& thread_name) {
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

std::shared_ptr<LaneExecutor::Lane> LaneExecutor::NewLane() {
  return std::shared_ptr<Lane>(new Lane(*this));
}

void LaneExecutor::Lane::Submit(Unit unit) {
  absl::MutexLock lock(&executor_.mutex_);
  units_.push_back(std::move(unit));
  ++executor_.waiting_;
  if (units_.size() == 1) executor_.ready_.push_back(shared_from_this());
}

int64_t LaneExecutor::queue_depth() const {
  absl::MutexLock lock(&mutex_);
  return waiting_;
}

void LaneExecutor::Work() {
  while (true) {
    Unit unit;
    {
      absl::MutexLock lock(&mutex_);
      auto wake = [this]()
                      ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !ready_.empty(); };
      mutex_.Await(absl::Condition(&wake));
      if (ready_.empty()) return;
      const std::shared_ptr<Lane> lane = std::move(ready_.front());
      ready_.pop_front();
      unit = std::move(lane->units_.front());
      lane->units_.pop_front();
      --waiting_;
      if (!lane->units_.empty()) ready_.push_back(lane);
    }
    unit();
  }
}

}  // namespace isocenter::scheduler
