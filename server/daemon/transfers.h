// The archive's queues as the web interface shows them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/http/transfers.h"

namespace isocenter::daemon {

/// Thread-safe.
class QueuedTransfers : public http::Transfers {
 public:
  /// `config` has its defaults and is valid; `queue` must outlive this.
  QueuedTransfers(const v1::DicomNodeConfig& config, archive::TransferQueue& queue);

  std::vector<http::TransferDestination> Destinations() override;
  absl::StatusOr<http::TransferPage> List(const http::TransferFilter& filter, int page_size,
                                          const std::string& page_token) override;
  absl::StatusOr<int> Retry(const std::string& job_id, const std::string& destination) override;
  absl::Status CheckDelivered(const std::string& job_id) override {
    return queue_.CheckDelivered(job_id);
  }

 private:
  std::vector<http::TransferDestination> configured_;
  archive::TransferQueue& queue_;
};

}  // namespace isocenter::daemon
