// One AddCalibration call.
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/support/byte_buffer.h"
#include "isocenter/v1/calibration_service.pb.h"
#include "server/calibrations/store.h"
#include "server/calibrations/upload.h"
#include "server/pipeline/engine.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/idle_watch.h"
#include "server/rpc/single_request_call.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::rpc {

/// What calls about calibrations share; outlives them.
struct CalibrationContext {
  const Guard& guard;
  calibrations::Store* store;  // null: none are kept
  pipeline::Engine& engine;
  CallCounter& calls;
  /// Where the disk is waited for.
  scheduler::LaneExecutor::Lane& disk;
  absl::Duration idle_limit;  // of a client that sends or takes nothing
};

/// Puts into the audit trail what was done to a calibration.
void RecordCalibration(const Permit& permit, const char* what, const std::string& name,
                       const absl::Status& outcome);

/// Takes a file piece by piece, each of which is on its way to the disk before the next is read.
class CalibrationUpload : public SingleRequestCall,
                          public std::enable_shared_from_this<CalibrationUpload> {
 public:
  static constexpr int64_t kMostPieceBytes = 1 << 20;
  /// A request with such a piece.
  static constexpr int64_t kLongestBytes = kMostPieceBytes + 4096;
  /// Nobody adds another one meanwhile.
  static constexpr absl::Duration kLongest = absl::Minutes(10);

  /// Deletes itself when gRPC is done with it.
  static CalibrationUpload* New(const CalibrationContext& shared,
                                grpc::CallbackServerContext& context, const Method& method);

 private:
  CalibrationUpload(const CalibrationContext& shared, grpc::CallbackServerContext& context,
                    const Method& method)
      : SingleRequestCall(shared.guard, context, method), shared_(shared), token_(shared.calls) {}

  void OnRequest(const grpc::ByteBuffer& bytes) override;
  void OnNext(const grpc::ByteBuffer* bytes) override;
  void OnEnd() override;

  /// Reads the next piece, unless the call has been ended.
  void GoOn();
  absl::Status Begin(const v1::AddCalibrationRequest& request);
  absl::Status Take(const grpc::ByteBuffer& bytes);
  /// All has come: on the disk's thread.
  void Commit();
  absl::StatusOr<v1::KeptCalibration> Keep();
  /// Ends the call from where requests are read. The client may begin again as soon as it knows.
  void Refuse(const absl::Status& why);
  /// Ends the call, unless it has been ended.
  void End(const absl::StatusOr<v1::KeptCalibration>& outcome);

  const CalibrationContext& shared_;
  const CallCounter::Token token_;
  std::shared_ptr<CalibrationUpload> self_;  // held until OnEnd
  std::shared_ptr<IdleWatch> watch_;
  std::string name_;
  uint64_t file_bytes_ = 0;
  std::unique_ptr<calibrations::Upload> upload_;
  grpc::ByteBuffer answer_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::rpc
