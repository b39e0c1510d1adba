// The archive's queues as the web interface shows them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/web/transfers.h"

namespace isocenter::daemon {

/// Thread-safe.
class QueuedTransfers : public web::Transfers {
 public:
  /// `config` has its defaults and is valid; `queue` must outlive this.
  QueuedTransfers(const v1::DicomNodeConfig& config, archive::TransferQueue& queue);

  std::vector<web::TransferDestination> Destinations() override;
  absl::StatusOr<web::TransferPage> List(const web::TransferFilter& filter, int page_size,
                                         const std::string& page_token) override;
  absl::StatusOr<int> Retry(const std::string& job_id, const std::string& destination) override;
  absl::Status CheckDelivered(const std::string& job_id) override {
    return queue_.CheckDelivered(job_id);
  }

 private:
  std::vector<web::TransferDestination> configured_;
  archive::TransferQueue& queue_;
};

}  // namespace isocenter::daemon
