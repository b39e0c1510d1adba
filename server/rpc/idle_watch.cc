#include "server/rpc/idle_watch.h"

#include <algorithm>
#include <utility>

#include "kernels/base/steady_clock.h"

namespace isocenter::rpc {

std::shared_ptr<IdleWatch> IdleWatch::Start(const Limits& limits, std::function<void()> on_idle) {
  std::shared_ptr<IdleWatch> watch(new IdleWatch(limits, std::move(on_idle)));
  absl::MutexLock lock(&watch->mutex_);
  watch->Arm();
  return watch;
}

IdleWatch::IdleWatch(const Limits& limits, std::function<void()> on_idle)
    : limits_(limits), begin_(SteadyNow()), on_idle_(std::move(on_idle)) {}

void IdleWatch::Touch() {
  absl::MutexLock lock(&mutex_);
  touched_ = true;
}

void IdleWatch::Stop() {
  absl::MutexLock lock(&mutex_);
  on_idle_ = nullptr;
  alarm_.reset();
}

void IdleWatch::Arm() {
  touched_ = false;
  alarm_ = std::make_unique<grpc::Alarm>();
  // The alarm belongs to the watch and keeps its callback, which must not keep the watch.
  alarm_->Set(DeadlineIn(std::min(limits_.idle, begin_ + limits_.whole - SteadyNow())),
              [weak = weak_from_this()](bool expired) {
                const auto self = weak.lock();
                if (expired && self != nullptr) self->OnAlarm();
              });
}

void IdleWatch::OnAlarm() {
  absl::MutexLock lock(&mutex_);
  if (!on_idle_) return;
  if (touched_ && SteadyNow() < begin_ + limits_.whole) return Arm();
  std::exchange(on_idle_, nullptr)();
}

}  // namespace isocenter::rpc
