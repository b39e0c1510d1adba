// QualityService on the results that the node keeps.
#pragma once

#include <memory>

#include "isocenter/v1/quality.grpc.pb.h"
#include "server/config/protocol_book.h"
#include "server/jobs/job_table.h"
#include "server/quality/store.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::rpc {

class QualityService : public SingleRequestService<v1::QualityService> {
 public:
  /// `store`: null where none are kept; all must outlive the service.
  QualityService(const Guard& guard, jobs::JobTable& table, const config::ProtocolBook& protocols,
                 quality_records::Store* store);

  /// Those that are not answered at once.
  const CallCounter& calls() const { return calls_; }

 private:
  void OnRecordQuality(UnaryCall<v1::RecordQualityRequest, v1::QualityResult>& call);
  void OnListQuality(UnaryCall<v1::ListQualityRequest, v1::ListQualityResponse>& call);
  void OnSetQualityBaseline(UnaryCall<v1::SetQualityBaselineRequest, v1::QualityResult>& call);

  /// What is to be kept, with names that are legal.
  absl::StatusOr<v1::QualityResult> ResultOf(v1::RecordQualityRequest& request) const;

  jobs::JobTable& table_;
  const config::ProtocolBook& protocols_;
  quality_records::Store* const store_;
  CallCounter calls_;
  scheduler::LaneExecutor disk_{"iso-quality"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> lane_ = disk_.NewLane();
};

}  // namespace isocenter::rpc
