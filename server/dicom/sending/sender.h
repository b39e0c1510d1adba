// Sends what is in the archive's queues to the configured destinations. docs/dicom.md, "Sending".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/archive/archive.h"
#include "server/archive/routing.h"
#include "server/dicom/net/node_options.h"
#include "server/stow/store_request.h"

namespace isocenter::dicom {

/// One destination and how it is treated.
struct SendDestination {
  archive::Route route;  // its destination's title is what the destination is called
  Peer peer;             // by C-STORE, of the same title
  std::optional<stow::Destination> stow = std::nullopt;  // by STOW-RS instead
  int max_associations = 1;
  absl::Duration first_retry = absl::Seconds(5), longest_retry = absl::Minutes(5);
  /// After which a report of storage commitment is asked for again.
  absl::Duration commitment_timeout = absl::Hours(1);
};

enum class SendEvent {
  kSent,       // an instance
  kFailed,     // an instance, for good
  kPostponed,  // an attempt that ended without effect
  kSkipped,    // an instance, as the destination accepts another form of it only
};
/// "sent", "failed", "postponed", "skipped".
absl::string_view Name(SendEvent event);

/// Called from several threads at once; must be quick. May be empty.
using SendObserver = std::function<void(const std::string& destination, SendEvent event)>;

struct SenderOptions {
  NodeOptions node;  // who we are
  std::vector<SendDestination> destinations;
  /// How long a report of storage commitment is awaited on the association of its request.
  absl::Duration await_report = absl::Seconds(3);
  std::function<absl::Time()> now = absl::Now;
  std::function<double()> random;  // in [0, 1), from one thread at a time; null: by chance
};

/// For each destination `max_associations` threads, each with at most one association or request.
/// An instance whose reception was not confirmed is sent again, in the order of enqueueing, for as
/// long as it takes; one that is refused for good becomes failed.
class Sender {
 public:
  /// Configures the archive's queues and begins. The archive must outlive the sender. Errors: those
  /// of the queue.
  static absl::StatusOr<std::unique_ptr<Sender>> Start(SenderOptions options,
                                                       archive::Archive& archive,
                                                       SendObserver observer);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Breaks off what is under way and returns when nothing of the sender runs any more: at once but
  /// for connections that are being made (up to 5 s) and requests of STOW-RS (1 s). May be called
  /// again.
  void Stop();

 private:
  class Lane;
  Sender(SenderOptions options, archive::Archive& archive, SendObserver observer);

  const SenderOptions options_;
  const SendObserver observer_;
  archive::TransferQueue& queue_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace isocenter::dicom
