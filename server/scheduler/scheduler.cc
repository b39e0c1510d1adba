#include "server/scheduler/scheduler.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::scheduler {

void SpeedEstimate::Add(double voxel_updates, double seconds) {
  if (!(voxel_updates > 0 && seconds > 0)) return;
  constexpr double kFading = 0.75;  // about the last eight jobs count
  absl::MutexLock lock(&mutex_);
  updates_ = kFading * updates_ + voxel_updates;
  seconds_ = kFading * seconds_ + seconds;
}

double SpeedEstimate::PredictSeconds(double voxel_updates) const {
  absl::MutexLock lock(&mutex_);
  return updates_ == 0 ? 0 : voxel_updates * seconds_ / updates_;
}

Admission& Admission::operator=(Admission&& other) noexcept {
  std::swap(scheduler_, other.scheduler_);
  std::swap(device_memory_, other.device_memory_);
  std::swap(host_memory_, other.host_memory_);
  return *this;
}

void Admission::ShrinkToHost(int64_t host_bytes) {
  device_memory_.ShrinkTo(0);
  host_memory_.ShrinkTo(host_bytes);
}

Admission::~Admission() {
  if (scheduler_ != nullptr) scheduler_->Leave();
}

int Scheduler::EmptiestSlot() const {
  const auto free = [&](int slot) {
    return slots_[slot]->memory.limit() - slots_[slot]->memory.used();
  };
  int best = 0;
  for (int slot = 1; slot < static_cast<int>(slots_.size()); ++slot) {
    if (free(slot) > free(best)) best = slot;
  }
  return best;
}

absl::StatusOr<Admission> Scheduler::Admit(int slot, int64_t device_bytes, int64_t host_bytes) {
  DeviceSlot& chosen = *slots_[slot];
  Reservation device_memory;
  if (&chosen.host_memory == &chosen.memory) {
    host_bytes += device_bytes;
  } else {
    ISO_ASSIGN_OR_RETURN(device_memory, chosen.memory.Reserve(device_bytes));
  }
  ISO_ASSIGN_OR_RETURN(Reservation host_memory, chosen.host_memory.Reserve(host_bytes));
  absl::MutexLock lock(&mutex_);
  if (active_jobs_ >= max_active_jobs_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("1 place among the active jobs is needed; 0 are free of ", max_active_jobs_,
                     "; try again when other jobs have ended"));
  }
  ++active_jobs_;
  return Admission(this, std::move(device_memory), std::move(host_memory));
}

void Scheduler::Leave() {
  absl::MutexLock lock(&mutex_);
  --active_jobs_;
}

int Scheduler::active_jobs() const {
  absl::MutexLock lock(&mutex_);
  return active_jobs_;
}

int64_t Scheduler::queue_depth() const {
  int64_t depth = 0;
  for (const auto& slot : slots_) depth += slot->lanes.queue_depth();
  return depth;
}

}  // namespace isocenter::scheduler
