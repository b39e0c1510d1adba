// One WatchJob call.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "isocenter/v1/jobs.pb.h"
#include "server/jobs/job_table.h"
#include "server/rpc/call_counter.h"

namespace isocenter::rpc {

/// Sends the job as it is, and again when it has changed; changes that happen while a message is on
/// its way are sent as one, with the last preview of them where previews are wanted. As in
/// AcquisitionStream, operations are started under the mutex.
class WatchStream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                    public std::enable_shared_from_this<WatchStream> {
 public:
  static WatchStream* Start(jobs::JobTable& table, CallCounter& calls,
                            const v1::WatchJobRequest& request);

 private:
  WatchStream(jobs::JobTable& table, CallCounter& calls, const v1::WatchJobRequest& request)
      : table_(table), token_(calls), job_id_(request.job_id()), previews_(request.previews()) {}

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  jobs::JobTable& table_;
  const CallCounter::Token token_;
  const std::string job_id_;
  const bool previews_;
  std::shared_ptr<WatchStream> self_;  // held until OnDone

  absl::Mutex mutex_;
  jobs::JobTable::Subscription subscription_ ABSL_GUARDED_BY(mutex_);
  jobs::JobSnapshot sent_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::rpc
