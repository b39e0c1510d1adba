// Who begins calls only to drop them (docs/adr/0036-what-a-caller-may-take.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/rpc/connections/channelz.h"
#include "server/rpc/connections/connections.h"

namespace isocenter::rpc {

/// What may happen so many times at once, and so often in the long run.
class Budget {
 public:
  static constexpr double kAtOnce = 1000, kPerSecond = 100;
  /// Whether `times` more are within it.
  bool Spend(double times, absl::Time now);
  bool is_full(absl::Time now) const;

 private:
  double Credit(absl::Time now) const;
  double credit_ = kAtOnce;
  absl::Time since_ = absl::InfinitePast();
};

/// A stream that is begun and reset (CVE-2023-44487) costs its sender 30 bytes, and the gRPC of
/// Debian 12 17 KiB of memory and 60 µs, more than it gives back in the same time; its handlers see
/// few of them. This cuts connections whose streams remain without an answer: more than 1,000 at
/// once, or 100 a second, of one host. Not thread-safe.
class StreamWatch {
 public:
  /// `connections` must outlive this.
  /// `on_refused`: told "streams" for each connection that is cut; may be empty.
  StreamWatch(Channelz channelz, Connections& connections, std::function<absl::Time()> clock,
              std::function<void(absl::string_view limit)> on_refused);

  /// To be called several times a second; looks at all connections only when something happens.
  void Look();

 private:
  struct Counts {
    int64_t begun = 0, unanswered = 0;
  };
  /// Charges hosts with the streams of their open connections, and cuts. How many were begun since
  /// the last look.
  int64_t ChargeOpen(absl::Time now);
  void Cut(const Peer& peer, int64_t streams);
  /// The same for those that came and went between two looks.
  void ChargeClosed(int64_t begun, absl::Time now);

  const Channelz channelz_;
  Connections& connections_;
  const std::function<absl::Time()> clock_;
  const std::function<void(absl::string_view limit)> on_refused_;
  int64_t begun_ = 0;                // until the last look, on all connections
  std::map<int64_t, Counts> known_;  // at the last look
  std::map<std::string, Budget> hosts_;
  Budget closed_;
};

}  // namespace isocenter::rpc
