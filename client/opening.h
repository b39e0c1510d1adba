// When an opening that broke before its answer is repeated. For .cc files of client/ only.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/reconnect.h"

namespace isocenter::client {

/// A name for an acquisition whose console gave it none: a server that has admitted it knows the
/// repeated opening by it. Unique across processes and machines.
std::string NewRequestId();

/// The attempts to open one acquisition; times are as those of Reconnect. Not thread-safe.
class Opening {
 public:
  /// `timeout` bounds the outage, as that of an acquisition under way; zero: nothing is repeated.
  explicit Opening(absl::Duration timeout) : timeout_(timeout), reconnect_(timeout) {}

  /// Whether the opening may be repeated after an attempt ended with `status`, at `now`. After OK,
  /// Pause() is how long to wait first.
  ///
  /// Repeated is what broke, by the rules and limits of Reconnect: the server may have admitted the
  /// acquisition. What a server says in its own words is its answer, and where there never was a
  /// connection, nothing was begun: these end the opening at once. A connection that ends before it
  /// stands may have been cut by the network, or by a server that expects TLS: it is tried again
  /// for 3 s. The error is the one with which the opening ends.
  absl::Status MayRepeat(const absl::Status& status, absl::Time now);

  /// What is left of the outage at `now`.
  absl::Duration Left(absl::Time now) const;
  absl::Duration Pause() { return reconnect_.Pause(); }

 private:
  const absl::Duration timeout_;
  Reconnect reconnect_;
  bool stood_ = false;  // a connection
  absl::Time first_cut_ = absl::InfiniteFuture();
};

}  // namespace isocenter::client
