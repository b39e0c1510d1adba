// One WatchJob call.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "isocenter/v1/jobs.pb.h"
#include "server/jobs/job_table.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/single_request_call.h"

namespace isocenter::rpc {

/// Sends the job as it is, and again when it has changed; changes that happen while a message is on
/// its way are sent as one, with the last preview of them where previews are wanted. As in
/// AcquisitionStream, operations are started under the mutex.
class WatchStream : public SingleRequestCall, public std::enable_shared_from_this<WatchStream> {
 public:
  /// Deletes itself when gRPC is done with it.
  static WatchStream* New(const Guard& guard, grpc::CallbackServerContext& context,
                          const Method& method, jobs::JobTable& table, CallCounter& calls);

 private:
  WatchStream(const Guard& guard, grpc::CallbackServerContext& context, const Method& method,
              jobs::JobTable& table, CallCounter& calls)
      : SingleRequestCall(guard, context, method), table_(table), token_(calls) {}

  void OnRequest(const grpc::ByteBuffer& bytes) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnEnd() override;
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  jobs::JobTable& table_;
  const CallCounter::Token token_;
  std::shared_ptr<WatchStream> self_;  // held until OnEnd

  absl::Mutex mutex_;
  v1::WatchJobRequest request_ ABSL_GUARDED_BY(mutex_);
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;  // the request has been read
  jobs::JobTable::Subscription subscription_ ABSL_GUARDED_BY(mutex_);
  jobs::JobSnapshot sent_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::rpc
