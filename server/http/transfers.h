// What the web interface asks of whoever sends results to DICOM destinations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace isocenter::http {

/// A configured destination, and how many instances are on their way to it.
struct TransferDestination {
  std::string name;  // AE title, or what it is called
  std::string host;  // by C-STORE
  int port = 0;
  std::string url;  // by STOW-RS; empty: by C-STORE
  int queued = 0, sending = 0, failed = 0;
  std::optional<double> oldest_seconds;  // how long the oldest instance waits
  std::string reason;                    // why nothing is sent now; empty: nothing is wrong
  int attempts = 0;                      // that failed in a row
  std::optional<absl::Time> next_try;    // empty: as soon as there is something
};

/// The instances of one job for one destination.
struct TransferSummary {
  std::string job_id, destination;
  std::string state;  // "queued", "sending", "sent", "committed", "failed" or "skipped"
  int queued = 0, sending = 0, sent = 0, committed = 0, failed = 0, skipped = 0;
  int attempts = 0;
  std::string message;  // why an instance failed or waits; empty: nothing went wrong
  bool storage_commitment = false;
  bool done = false;
  absl::Time create_time, update_time;
};

/// Empty members match everything.
struct TransferFilter {
  std::string job_id, destination;
  std::vector<std::string> states;
};

struct TransferPage {
  std::vector<TransferSummary> transfers;  // newest first
  std::string next_page_token;             // empty: the last page
};

/// Thread-safe.
class Transfers {
 public:
  virtual ~Transfers() = default;
  virtual std::vector<TransferDestination> Destinations() = 0;
  /// Errors: INVALID_ARGUMENT (a state, the page token).
  virtual absl::StatusOr<TransferPage> List(const TransferFilter& filter, int page_size,
                                            const std::string& page_token) = 0;
  /// Puts failed instances back into the queue; either may be empty, not both. Returns how many.
  /// Errors: NOT_FOUND.
  virtual absl::StatusOr<int> Retry(const std::string& job_id, const std::string& destination) = 0;
  /// What waits for another attempt is tried at once. Returns how many instances. Errors:
  /// NOT_FOUND.
  virtual absl::StatusOr<int> TryNow(const std::string& destination) = 0;
  /// Puts a job's result into a destination's queue; with `again` also what the destination has.
  /// Returns how many instances were put there. Errors: those of archive::TransferQueue::Send.
  virtual absl::StatusOr<int> Send(const std::string& job_id, const std::string& destination,
                                   bool again) = 0;
  /// FAILED_PRECONDITION while a destination has still to get the job's result.
  virtual absl::Status CheckDelivered(const std::string& job_id) = 0;
};

}  // namespace isocenter::http
