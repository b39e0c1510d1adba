// When a broken call is tried again, and after which pause. For .cc files of client/ only.
#pragma once

#include <random>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace isocenter::client {

/// One acquisition's breaks; times are of one clock, which nobody sets. An outage begins with a
/// break and lasts until a call has moved the acquisition on. Not thread-safe.
class Reconnect {
 public:
  /// `timeout` bounds an outage; zero: never again.
  explicit Reconnect(absl::Duration timeout);

  /// Whether the call may be tried again after it ended with `status`, at `now`. `moved_on`: it
  /// did what it was for before it broke. After OK, Pause() is how long to wait first.
  ///
  /// Tried again are the codes with which a transport, a server that restarts or a damaged frame
  /// end a call: UNAVAILABLE, CANCELLED, INTERNAL, UNKNOWN, DATA_LOSS. A server may mean the last
  /// four, and then says them again: three times in a row are its answer. Otherwise, and when the
  /// outage has lasted too long, the error is returned with which the acquisition ends.
  absl::Status MayTryAgain(const absl::Status& status, bool moved_on, absl::Time now);

  /// What is left of the outage at `now`.
  absl::Duration Left(absl::Time now) const { return outage_began_ + timeout_ - now; }
  /// How long it lasts at `now`; negative infinity when there is none.
  absl::Duration Lasted(absl::Time now) const { return now - outage_began_; }

  /// 50 ms, doubled with each try of an outage up to 2 s, of which a random half is kept, so that
  /// consoles of one server do not come back all at once.
  absl::Duration Pause();

 private:
  const absl::Duration timeout_;
  absl::Time outage_began_ = absl::InfiniteFuture();
  absl::Duration next_pause_;
  int repeated_ = 0;  // answers in a row that a server may have meant
  std::minstd_rand random_;
};

}  // namespace isocenter::client
