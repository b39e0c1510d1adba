// Tells ThreadSanitizer what Debian's Abseil does not: its Mutex is compiled without annotations,
// so everything that one thread hands to another under a lock would be reported as a race. The
// dynamic linker takes these definitions before those of libabsl_synchronization, for our calls and
// for gRPC's; each does what the library's does, and says what is ordered: all before an Unlock
// happened before all after the next Lock.
//
// The price: it is not watched in which order two locks are taken. Functions that neither our code
// nor gRPC calls (reader locks, LockWhen) are missing: whoever uses the first one adds it here.
// Sources: sanitizer/tsan_interface.h; absl/synchronization/mutex.h for what the functions promise.

#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "tools/sanitizer/next_function.h"

namespace {

void Acquire(const void* what) { __tsan_acquire(const_cast<void*>(what)); }
void Release(const void* what) { __tsan_release(const_cast<void*>(what)); }

// Whichever thread gives the mutex up evaluates the conditions of all that wait, while it still
// holds the mutex but after it has said that it does not.
class OrderedCondition {
 public:
  OrderedCondition(absl::Mutex* mutex, const absl::Condition& condition)
      : mutex_(mutex), condition_(condition) {}
  absl::Condition Get() { return absl::Condition(&Evaluate, this); }

 private:
  static bool Evaluate(OrderedCondition* self) {
    Acquire(self->mutex_);
    const bool met = self->condition_.Eval();
    Release(self->mutex_);
    return met;
  }
  absl::Mutex* const mutex_;
  const absl::Condition& condition_;
};

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  ISO_NEXT_FUNCTION(void (*)(Mutex*), "_ZN4absl7debian35Mutex4LockEv")(this);
  Acquire(this);
}

bool Mutex::TryLock() {
  const bool locked = ISO_NEXT_FUNCTION(bool (*)(Mutex*), "_ZN4absl7debian35Mutex7TryLockEv")(this);
  if (locked) Acquire(this);
  return locked;
}

void Mutex::Unlock() {
  Release(this);
  ISO_NEXT_FUNCTION(void (*)(Mutex*), "_ZN4absl7debian35Mutex6UnlockEv")(this);
}

void Mutex::Await(const Condition& condition) {
  OrderedCondition ordered(this, condition);
  Release(this);
  ISO_NEXT_FUNCTION(void (*)(Mutex*, const Condition&),
                    "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE")
  (this, ordered.Get());
  Acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  OrderedCondition ordered(this, condition);
  Release(this);
  const bool met =
      ISO_NEXT_FUNCTION(bool (*)(Mutex*, const Condition&, Duration),
                        "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE")(
          this, ordered.Get(), timeout);
  Acquire(this);
  return met;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  OrderedCondition ordered(this, condition);
  Release(this);
  const bool met =
      ISO_NEXT_FUNCTION(bool (*)(Mutex*, const Condition&, Time),
                        "_ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE")(
          this, ordered.Get(), deadline);
  Acquire(this);
  return met;
}

void CondVar::Wait(Mutex* mutex) {
  Release(mutex);
  ISO_NEXT_FUNCTION(void (*)(CondVar*, Mutex*), "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE")
  (this, mutex);
  Acquire(mutex);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  Release(mutex);
  const bool timed_out = ISO_NEXT_FUNCTION(
      bool (*)(CondVar*, Mutex*, Time),
      "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE")(this, mutex, deadline);
  Acquire(mutex);
  return timed_out;
}

// A Notification that has come is seen without its mutex.
void Notification::Notify() {
  Release(this);
  ISO_NEXT_FUNCTION(void (*)(Notification*), "_ZN4absl7debian312Notification6NotifyEv")(this);
}

void Notification::WaitForNotification() const {
  ISO_NEXT_FUNCTION(void (*)(const Notification*),
                    "_ZNK4absl7debian312Notification19WaitForNotificationEv")
  (this);
  Acquire(this);
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  const bool notified = ISO_NEXT_FUNCTION(
      bool (*)(const Notification*, Duration),
      "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE")(this,
                                                                                        timeout);
  if (notified) Acquire(this);
  return notified;
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  const bool notified = ISO_NEXT_FUNCTION(
      bool (*)(const Notification*, Time),
      "_ZNK4absl7debian312Notification31WaitForNotificationWithDeadlineENS0_4TimeE")(this,
                                                                                     deadline);
  if (notified) Acquire(this);
  return notified;
}

ABSL_NAMESPACE_END
}  // namespace absl
