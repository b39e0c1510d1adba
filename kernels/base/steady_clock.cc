#include "kernels/base/steady_clock.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace isocenter {
namespace {

using Clock = std::chrono::steady_clock;

// Whoever waits longer waits for ever.
constexpr absl::Duration kLongest = absl::Hours(24 * 365 * 10);

/// One who waits; on his stack.
struct Waiter {
  absl::Mutex& mutex;
  bool over = false;  // guarded by `mutex`
};

/// Tells those who wait that their time has passed, from a thread of its own. Locks: who waits has
/// his mutex, then this one's; the thread never has both.
class Timers {
 public:
  Timers() {
    std::thread([this] { Run(); }).detach();
  }

  using Queue = std::multimap<Clock::time_point, Waiter*>;

  Queue::iterator Add(Clock::time_point end, Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    const auto place = queue_.emplace(end, &waiter);
    if (place == queue_.begin()) earlier_.notify_one();
    return place;
  }

  /// Before the waiter goes. False: the thread is telling him now, and needs his mutex for it.
  bool Remove(Queue::iterator place, const Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    if (told_ == &waiter) return false;
    if (!waiter.over) queue_.erase(place);
    return true;
  }

  /// With his mutex given back.
  void AwaitTold(const Waiter& waiter) {
    std::unique_lock lock(mutex_);
    has_told_.wait(lock, [&] { return told_ != &waiter; });
  }

 private:
  [[noreturn]] void Run() {
    pthread_setname_np(pthread_self(), "iso-timers");
    std::unique_lock lock(mutex_);
    for (;;) {
      if (queue_.empty()) {
        earlier_.wait(lock);
        continue;
      }
      const auto first = queue_.begin();
      if (const Clock::time_point end = first->first; Clock::now() < end) {
        earlier_.wait_until(lock, end);
        continue;
      }
      told_ = first->second;
      queue_.erase(first);
      lock.unlock();
      {
        absl::MutexLock his(&told_->mutex);
        told_->over = true;
      }
      lock.lock();
      told_ = nullptr;
      has_told_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable earlier_, has_told_;
  Queue queue_;
  Waiter* told_ = nullptr;
};

Timers& TheTimers() {
  static Timers& timers = *new Timers;  // its thread never ends
  return timers;
}

}  // namespace

absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(Clock::now().time_since_epoch());
}

std::chrono::system_clock::time_point DeadlineIn(absl::Duration duration) {
  return std::chrono::system_clock::now() +
         absl::ToChronoNanoseconds(std::clamp(duration, -kLongest, kLongest));
}

bool AwaitFor(absl::Mutex& mutex, const absl::Condition& condition, absl::Duration duration) {
  if (condition.Eval()) return true;
  if (duration <= absl::ZeroDuration()) return false;
  if (duration > kLongest) {
    mutex.Await(condition);
    return true;
  }
  Waiter waiter{mutex};
  const auto end = Clock::now() + absl::ToChronoNanoseconds(duration);
  const auto place = TheTimers().Add(end, waiter);
  const auto done = [&] { return waiter.over || condition.Eval(); };
  mutex.Await(absl::Condition(&done));
  if (!TheTimers().Remove(place, waiter)) {
    mutex.Unlock();
    TheTimers().AwaitTold(waiter);
    mutex.Lock();
  }
  return condition.Eval();
}

}  // namespace isocenter
