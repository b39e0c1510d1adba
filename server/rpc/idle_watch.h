// Tells when the other side of a call has been still for too long.
#pragma once

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"

namespace isocenter::rpc {

/// Thread-safe.
class IdleWatch : public std::enable_shared_from_this<IdleWatch> {
 public:
  struct Limits {
    absl::Duration idle;                              // without a Touch
    absl::Duration whole = absl::InfiniteDuration();  // from the start, touched or not
  };
  /// `on_idle` is called at most once, from a thread of gRPC, and not after Stop has returned. It
  /// must not call this.
  static std::shared_ptr<IdleWatch> Start(const Limits& limits, std::function<void()> on_idle);

  void Touch();
  void Stop();

 private:
  IdleWatch(const Limits& limits, std::function<void()> on_idle);
  void Arm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnAlarm();

  const Limits limits_;
  const absl::Time begin_;
  absl::Mutex mutex_;
  std::function<void()> on_idle_ ABSL_GUARDED_BY(mutex_);  // empty: stopped
  bool touched_ ABSL_GUARDED_BY(mutex_) = false;           // since the alarm was set
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::rpc
