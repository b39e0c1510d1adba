// The archive's queues as the interface shows them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/archive/transfer_queue.h"
#include "server/http/transfers.h"

namespace isocenter::http {

/// Thread-safe.
class QueuedTransfers : public Transfers {
 public:
  /// `configured`: all destinations, without what is on its way. `queue` must outlive this.
  QueuedTransfers(std::vector<TransferDestination> configured, archive::TransferQueue& queue,
                  std::function<absl::Time()> clock = absl::Now)
      : configured_(std::move(configured)), queue_(queue), clock_(std::move(clock)) {}

  std::vector<TransferDestination> Destinations() override;
  absl::StatusOr<TransferPage> List(const TransferFilter& filter, int page_size,
                                    const std::string& page_token) override;
  absl::StatusOr<int> Retry(const std::string& job_id, const std::string& destination) override;
  absl::StatusOr<int> TryNow(const std::string& destination) override;
  absl::StatusOr<int> Send(const std::string& job_id, const std::string& destination,
                           bool again) override;
  absl::Status CheckDelivered(const std::string& job_id) override {
    return queue_.CheckDelivered(job_id);
  }

 private:
  const std::vector<TransferDestination> configured_;
  archive::TransferQueue& queue_;
  const std::function<absl::Time()> clock_;
};

}  // namespace isocenter::http
