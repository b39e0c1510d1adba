// Whose message is received now (docs/adr/0036-what-a-caller-may-take.md).
#pragma once

#include <functional>
#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace isocenter::rpc {

/// gRPC knows one limit of length for all messages, that of a frame: whoever announces so many
/// bytes and does not send them makes it keep what has come. So few calls receive their first
/// message at once, one after the other, at most half of them one caller's; who takes long makes
/// place when another one waits. A message that comes with its call, as those of programs do, has
/// its place for a few microseconds. Thread-safe.
class Reception {
 public:
  static constexpr int kPlaces = 8;
  /// While others wait.
  static constexpr absl::Duration kLongestTurn = absl::Seconds(1);

  /// A call before its first message. Both are called at most once, under a lock: they must not
  /// call the reception.
  class Guest {
   public:
    virtual ~Guest() = default;
    /// Begins to read.
    virtual void Receive() = 0;
    /// It has read for too long, and is no guest any more.
    virtual void TurnAway(const absl::Status& why) = 0;
  };

  explicit Reception(std::function<absl::Time()> clock) : clock_(std::move(clock)) {}

  /// `guest` reads, at once or in its turn, for at most `patience`. It must leave before it ends.
  void Enter(Guest& guest, const std::string& caller, absl::Duration patience);
  /// The message is there, or the call has ended. False: it is no guest (any more).
  bool Leave(Guest& guest);
  /// The call has ended before its turn. False: it reads, or is no guest.
  bool LeaveQueue(Guest& guest);
  /// Turns away who takes too long; to be called several times a second.
  void Sweep();

 private:
  struct Entry {
    Guest* guest;
    std::string caller;
    absl::Duration patience;
    absl::Time since;  // it reads; InfiniteFuture: it waits
  };
  bool Remove(Guest& guest, bool even_if_it_reads);
  void ServeQueue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasPlaceFor(const std::string& caller) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const std::function<absl::Time()> clock_;
  absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // as they came
};

}  // namespace isocenter::rpc
