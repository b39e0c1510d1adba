#include "server/scheduler/device_slot.h"

namespace isocenter::scheduler {

void DeviceSlot::Quarantine(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  if (!healthy_) return;
  healthy_ = false;
  quarantine_reason_ = reason;
}

bool DeviceSlot::healthy() const {
  absl::MutexLock lock(&mutex_);
  return healthy_;
}

std::string DeviceSlot::quarantine_reason() const {
  absl::MutexLock lock(&mutex_);
  return quarantine_reason_;
}

}  // namespace isocenter::scheduler
