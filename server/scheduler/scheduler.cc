#include "server/scheduler/scheduler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "server/base/try_again.h"

namespace isocenter::scheduler {
namespace {

/// What somebody gives back at some time.
struct Return {
  absl::Time time;
  int64_t amount;
};

/// When what is given back amounts to `missing`.
absl::Time WhenReturned(std::vector<Return> returns, int64_t missing) {
  if (missing <= 0) return absl::InfinitePast();
  std::sort(returns.begin(), returns.end(),
            [](const Return& a, const Return& b) { return a.time < b.time; });
  for (const Return& next : returns) {
    missing -= next.amount;
    if (missing <= 0) return next.time;
  }
  return absl::InfiniteFuture();
}

}  // namespace

Admission& Admission::operator=(Admission&& other) noexcept {
  std::swap(scheduler_, other.scheduler_);
  std::swap(id_, other.id_);
  return *this;
}

Admission::~Admission() {
  if (scheduler_ != nullptr) scheduler_->Leave(id_);
}

void Admission::ShrinkToHost(int64_t host_bytes) {
  if (scheduler_ != nullptr) scheduler_->ShrinkToHost(id_, host_bytes);
}

void Admission::ExpectEnd(absl::Time end) {
  if (scheduler_ != nullptr) scheduler_->ExpectEnd(id_, end);
}

std::vector<Forecast> Scheduler::Rank(double voxel_updates, jobs::JobClass job_class) const {
  std::vector<Forecast> forecasts;
  std::vector<int64_t> free(
      slots_.size());  // once, so that the order is one while jobs come and go
  for (int i = 0; i < static_cast<int>(slots_.size()); ++i) {
    const DeviceSlot& slot = *slots_[i];
    if (!slot.healthy()) continue;
    free[i] = slot.memory.free();
    const double ahead = slot.backlog.Ahead(job_class);
    forecasts.push_back({.slot = i,
                         .wait = absl::Seconds(slot.cost.PredictSeconds(ahead)),
                         .compute = absl::Seconds(slot.cost.PredictSeconds(voxel_updates))});
  }
  std::stable_sort(forecasts.begin(), forecasts.end(), [&](const Forecast& a, const Forecast& b) {
    return a.finish() != b.finish() ? a.finish() < b.finish() : free[a.slot] > free[b.slot];
  });
  return forecasts;
}

std::vector<Scheduler::Need> Scheduler::Needs(std::span<const SlotDemand> slots,
                                              int64_t host_bytes) const {
  std::vector<Need> needs = {{&slots_[slots.front().slot]->host_memory, host_bytes}};
  for (const SlotDemand& demand : slots) {
    PromisedMemory* const memory = &slots_[demand.slot]->memory;
    if (memory == needs.front().memory) {
      needs.front().bytes += demand.device_bytes;
    } else {
      needs.push_back({memory, demand.device_bytes});
    }
  }
  return needs;
}

absl::StatusOr<Admission> Scheduler::Admit(int slot, int64_t device_bytes, int64_t host_bytes,
                                           jobs::JobClass job_class) {
  const SlotDemand demand = {slot, device_bytes};
  return Admit(std::span(&demand, 1), host_bytes, job_class);
}

absl::Status Scheduler::LeaveRoom(const std::vector<Need>& needs) const {
  if (holders_.empty()) return absl::OkStatus();
  for (const Need& need : needs) {
    const int64_t kept = need.memory->limit() / 4;
    if (need.memory->free() - need.bytes < kept) {
      return FullForNow(
          absl::StrCat("the batch job needs ", BytesText(need.bytes), " of memory; ",
                       BytesText(need.memory->free()), " are free, of which ", BytesText(kept),
                       " are kept for live and interactive jobs; try again when other jobs have "
                       "ended"));
    }
  }
  const int kept = max_active_jobs_ / 4;
  if (static_cast<int>(holders_.size()) >= max_active_jobs_ - kept) {
    return FullForNow(absl::StrCat("1 place among the active jobs is needed; the last ", kept,
                                   " of ", max_active_jobs_,
                                   " are kept for live and interactive jobs; try again when "
                                   "other jobs have ended"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Admission> Scheduler::Admit(std::span<const SlotDemand> slots, int64_t host_bytes,
                                           jobs::JobClass job_class) {
  for (const SlotDemand& demand : slots) {
    const DeviceSlot& slot = *slots_[demand.slot];
    if (!slot.healthy()) {
      return absl::UnavailableError(absl::StrCat("device ", slot.name, " is out of service (",
                                                 slot.quarantine_reason(), "); use another one"));
    }
  }
  const std::vector<Need> needs = Needs(slots, host_bytes);
  Holder holder{.host = needs.front().memory};
  absl::MutexLock lock(&mutex_);
  if (job_class == jobs::JobClass::kBatch) {
    const absl::Status room = LeaveRoom(needs);
    if (!room.ok()) return Refuse(room, needs);
  }
  absl::Status refused;
  for (const Need& need : needs) {
    absl::StatusOr<MemoryPromise> promise = need.memory->Reserve(need.bytes);
    if (promise.ok()) {
      holder.memory.push_back(*std::move(promise));
    } else if (refused.ok() || need.bytes > need.memory->limit()) {
      refused = promise.status();  // what never fits is named before what does not fit now
    }
  }
  if (refused.ok() && static_cast<int>(holders_.size()) >= max_active_jobs_) {
    refused = FullForNow(absl::StrCat("1 place among the active jobs is needed; 0 are free of ",
                                      max_active_jobs_, "; try again when other jobs have ended"));
  }
  if (!refused.ok()) {
    holder.memory.clear();  // before it is computed when there will be room
    return Refuse(refused, needs);
  }
  const int64_t id = next_id_++;
  holders_[id] = std::move(holder);
  return Admission(this, id);
}

absl::Time Scheduler::EarliestRoom(const std::vector<Need>& needs) const {
  std::vector<Return> places;
  for (const auto& [id, holder] : holders_) places.push_back({holder.end, 1});
  absl::Time earliest =
      WhenReturned(places, static_cast<int64_t>(holders_.size()) + 1 - max_active_jobs_);
  for (const Need& need : needs) {
    std::vector<Return> bytes;
    for (const auto& [id, holder] : holders_) {
      for (const MemoryPromise& held : holder.memory) {
        if (held.memory() == need.memory) bytes.push_back({holder.end, held.bytes()});
      }
    }
    earliest = std::max(earliest, WhenReturned(bytes, need.bytes - need.memory->free()));
  }
  return earliest;
}

absl::Status Scheduler::Refuse(const absl::Status& reason, const std::vector<Need>& needs) const {
  const absl::Time earliest = EarliestRoom(needs);
  if (earliest == absl::InfiniteFuture()) return reason;
  // A second at least: who should have ended by now will hardly do so at once.
  const int64_t seconds =
      std::max(int64_t{1}, absl::ToInt64Seconds(absl::Ceil(earliest - clock_(), absl::Seconds(1))));
  return WithRetryAfter(
      absl::Status(reason.code(),
                   absl::StrCat(reason.message(), ", at the earliest in about ", seconds, " s")),
      absl::Seconds(seconds));
}

void Scheduler::ShrinkToHost(int64_t id, int64_t host_bytes) {
  {
    absl::MutexLock lock(&mutex_);
    Holder& holder = holders_.at(id);
    for (MemoryPromise& held : holder.memory) {
      held.ShrinkTo(held.memory() == holder.host ? host_bytes : 0);
    }
  }
  TellFreed();
}

void Scheduler::ExpectEnd(int64_t id, absl::Time end) {
  absl::MutexLock lock(&mutex_);
  holders_.at(id).end = end;
}

void Scheduler::Leave(int64_t id) {
  {
    absl::MutexLock lock(&mutex_);
    holders_.erase(id);
  }
  TellFreed();
}

void Scheduler::WhenFreed(std::function<void()> freed) {
  absl::MutexLock lock(&freed_mutex_);
  freed_ = std::move(freed);
}

void Scheduler::TellFreed() {
  absl::MutexLock lock(&freed_mutex_);
  if (freed_) freed_();
}

int Scheduler::active_jobs() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(holders_.size());
}

int Scheduler::healthy_slots() const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(),
                                        [](const auto& slot) { return slot->healthy(); }));
}

int64_t Scheduler::queue_depth() const {
  int64_t depth = 0;
  for (const auto& slot : slots_) depth += slot->lanes.queue_depth();
  return depth;
}

}  // namespace isocenter::scheduler
