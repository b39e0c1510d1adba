// One KeepReplica call.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "isocenter/v1/replicas.pb.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/replicas/replica_store.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/raw_message.h"
#include "server/rpc/translation/translate_header.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::rpc {

/// Whether the caller is one of `origins`, and the one that he says. Errors: PERMISSION_DENIED.
absl::Status CheckOriginOf(const Permit& permit, const v1::ReplicaOrigin& origin,
                           const std::vector<v1::ReplicaOriginConfig>& origins);

/// How many copies may be written at once: as many as the origins may have jobs, if they are as
/// this node is, and some whose streams broke and come back. 0: no origins.
inline int MostReplicaCalls(const v1::ServerConfig& config) {
  return config.cluster().replication().origin_size() *
         (static_cast<int>(config.limits().max_active_jobs()) + CallerQuotas::kSpareStreams);
}

/// What all calls share; outlives them.
struct ReplicaContext {
  const Guard& guard;
  replicas::ReplicaStore& store;
  std::vector<v1::ReplicaOriginConfig> origins;
  int64_t max_frame_bytes = 0;
  int most_calls = 0;
  CallCounter calls{};
  /// Where the disk is waited for when a copy begins.
  scheduler::LaneExecutor disk{"iso-replica-disk"};
  std::shared_ptr<scheduler::LaneExecutor::Lane> lane = disk.NewLane();
};

/// Reads as an acquisition's stream does: raw bytes, each message held against the limit of its
/// place, at most kMostAppends frames on their way to the disk.
class ReplicaCall : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                    public std::enable_shared_from_this<ReplicaCall> {
 public:
  /// A reactor that lives until gRPC is done with it.
  static ReplicaCall* Start(ReplicaContext& shared, grpc::CallbackServerContext* call);

 private:
  enum class Phase { kHeader, kBeginning, kFrames, kClosed };

  ReplicaCall(ReplicaContext& shared, grpc::CallbackServerContext* call);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  absl::Status Admit() const;
  absl::Status HandleMessage();
  absl::Status HandleHeader(const RawMessage& raw);
  void Begin(const replicas::ReplicaHeader& header);
  absl::Status HandleFrame(RawMessage::Frame raw);
  absl::Status HandleRest(const RawMessage& raw);
  void OnAppended(int index, const absl::Status& status);
  void AnswerKept(int index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReplicaContext& shared_;
  grpc::CallbackServerContext& call_;
  const CallCounter::Token token_;
  const Permit permit_;
  std::shared_ptr<ReplicaCall> self_;  // held until OnDone
  grpc::ByteBuffer incoming_;          // of the one message that is being read

  absl::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kHeader;
  std::shared_ptr<replicas::ReplicaStore::Writer> writer_ ABSL_GUARDED_BY(mutex_);
  int64_t frames_ ABSL_GUARDED_BY(mutex_) = 0, frame_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int appends_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;     // a message, or at work on it
  bool read_waits_ ABSL_GUARDED_BY(mutex_) = false;  // until answers have gone
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;   // the origin sends no more
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // the status went to gRPC
  std::deque<v1::KeepReplicaResponse> answers_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);
  absl::Status final_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::rpc
