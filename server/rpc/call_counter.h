// How many calls are open.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace isocenter::rpc {

/// Thread-safe. Must outlive its tokens: whoever destroys it waits until there is none.
class CallCounter {
 public:
  /// Counts one call for as long as it lives.
  class Token {
   public:
    explicit Token(CallCounter& counter) : counter_(counter), number_(counter.Enter()) {}
    ~Token() { counter_.Leave(); }
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;
    /// Calls that were open when this one began, itself included.
    int number() const { return number_; }

   private:
    CallCounter& counter_;
    const int number_;
  };

  /// Whether no call was open before `deadline`.
  bool WaitUntilNone(absl::Time deadline) const {
    absl::MutexLock lock(&mutex_);
    auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return open_ == 0; };
    return mutex_.AwaitWithDeadline(absl::Condition(&none), deadline);
  }

 private:
  int Enter() {
    absl::MutexLock lock(&mutex_);
    return ++open_;
  }
  void Leave() {
    absl::MutexLock lock(&mutex_);
    --open_;
  }

  mutable absl::Mutex mutex_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::rpc
