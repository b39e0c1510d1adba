// One Acquire call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "isocenter/v1/acquisition.pb.h"
#include "isocenter/v1/server_config.pb.h"
#include "kernels/base/steady_clock.h"
#include "server/base/line_rate.h"
#include "server/calibrations/store.h"
#include "server/config/protocol_book.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/engine.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/raw_message.h"

namespace isocenter::rpc {

/// What all streams and quotes share; outlives them.
struct AcquisitionContext {
  const Guard& guard;
  pipeline::Engine& engine;
  jobs::JobTable& table;
  const config::ProtocolBook& protocols;
  jobs::JobObserver& observer;
  int64_t max_message_bytes;
  absl::Duration idle_limit;  // of silence
  const v1::ClusterConfig& cluster;
  std::function<absl::Time()> clock;            // for what is valid until a date
  calibrations::Store* calibrations = nullptr;  // null: none are kept
  CallCounter calls{};                          // streams, and quotes that are being made
  LineRate refused_frames{};                    // in the log, by job
};

/// Reads messages as raw bytes, so that each is held against the limit of its place in the stream
/// before it is parsed: a few MiB for the header, a frame and a little more afterwards. The pixels
/// of a frame go from gRPC's memory to the disk. At most one message is read ahead; while as many
/// frames as a job may have are on their way to the disk, none is read, and HTTP/2's flow control
/// holds the console back.
///
/// The calls that start gRPC operations are made under the mutex; gRPC reports their completion
/// from its own threads, never from within those calls.
class AcquisitionStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          public pipeline::FrameProducer,
                          private Reception::Guest,
                          public std::enable_shared_from_this<AcquisitionStream> {
 public:
  /// A reactor that lives until gRPC is done with it.
  static AcquisitionStream* Start(AcquisitionContext& shared, grpc::CallbackServerContext* call);

 private:
  enum class Phase {
    kHeader,    // nothing has come
    kPlanning,  // the engine decides
    kFrames,    // frames come, then finish
    kResult,    // all has come; the job goes on without input
    kClosed,    // the final status is set
  };

  AcquisitionStream(AcquisitionContext& shared, grpc::CallbackServerContext* call);

  /// Whether there is a place for it. Errors: the final status.
  absl::Status Admit();
  void Receive() override;
  void TurnAway(const absl::Status& why) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void OnRoom() override;
  void OnRefused(const absl::Status& why) override;

  absl::Status HandleMessage();
  absl::Status HandleFirst(const RawMessage& raw);
  absl::Status HandleHeader(const v1::AcquisitionHeader& header);
  absl::Status HandleResume(const v1::Resume& resume);
  void HandleAccepted(absl::StatusOr<pipeline::Engine::Accepted> accepted);
  absl::Status HandleFrame(RawMessage::Frame frame);
  absl::Status HandleFinish(const v1::Finish& finish);
  /// Makes this the job's stream: its number. Errors: Attach's.
  absl::StatusOr<int64_t> TakeOver(pipeline::ReconstructionJob& job);
  /// Keeps the number of an attached stream, unless the call is closed: then it lets go.
  void KeepAttached(pipeline::ReconstructionJob& job, int64_t stream);
  /// Called whenever the job has changed.
  void OnJobChanged();
  /// The console will send nothing more; it may still listen.
  void HandleLoss();
  /// The console is gone.
  void HandleLeft(const absl::Status& why);
  /// Ends the call with an error of the console's making.
  void Refuse(const absl::Status& why);
  void TellRefusedFrame(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void ReadNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Sends what is due, unless a write is on its way, and at the end the status.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// The next message for the console, if there is news.
  std::optional<v1::AcquireResponse> NextResponse() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmIdleAlarm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnIdleAlarm();

  AcquisitionContext& shared_;
  const CallCounter::Token token_;
  grpc::CallbackServerContext* const call_;
  const Permit permit_;
  CallerQuotas::Place place_;
  const absl::Time begin_ = SteadyNow();
  const absl::Duration allowed_;             // the deadline of the call, from `begin_`
  std::shared_ptr<AcquisitionStream> self_;  // held until OnDone

  // Of the thread that handles the one message that is being read.
  grpc::ByteBuffer incoming_;
  bool arrived_ = false;  // the first message, or that there is none

  absl::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kHeader;
  std::shared_ptr<pipeline::ReconstructionJob> job_ ABSL_GUARDED_BY(mutex_);
  int64_t stream_ ABSL_GUARDED_BY(mutex_) = 0;      // of the job; 0: another stream has it
  bool began_job_ ABSL_GUARDED_BY(mutex_) = false;  // and did not go on with one
  bool is_proven_ ABSL_GUARDED_BY(mutex_) = false;  // AcceptedJob::is_proven
  int64_t frame_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string job_id_ ABSL_GUARDED_BY(mutex_);        // empty until accepted
  std::string asked_for_ ABSL_GUARDED_BY(mutex_);     // the job that a resumption names
  std::string station_name_ ABSL_GUARDED_BY(mutex_);  // of the header, unchecked
  jobs::JobTable::Subscription subscription_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;     // the status went to gRPC
  absl::Time last_activity_ ABSL_GUARDED_BY(mutex_);  // of SteadyNow
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::AcquireResponse> accepted_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::AcquireResponse> notice_ ABSL_GUARDED_BY(mutex_);  // that frames are missing
  bool result_sent_ ABSL_GUARDED_BY(mutex_) = false;
  std::string acknowledged_ ABSL_GUARDED_BY(mutex_);  // as it was sent
  std::string progress_sent_ ABSL_GUARDED_BY(mutex_);
  size_t warnings_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const jobs::Preview> preview_sent_ ABSL_GUARDED_BY(mutex_);
  absl::Status final_status_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Alarm> idle_alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::rpc
