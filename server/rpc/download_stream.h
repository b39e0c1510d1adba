// One DownloadResult call.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/byte_buffer.h"
#include "isocenter/v1/jobs.pb.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/single_request_call.h"

namespace isocenter::rpc {

/// What all downloads share; outlives them.
struct DownloadContext {
  const Guard& guard;
  const jobs::JobTable& table;
  jobs::ResultStore& results;
  CallCounter& calls;
  absl::Duration idle_limit;  // of a reader that takes nothing
};

/// Sends stored files piece by piece; the next piece is read when the last one has been taken, so a
/// slow client costs one piece of memory, and one that takes none loses its place.
class DownloadStream : public SingleRequestCall,
                       public std::enable_shared_from_this<DownloadStream> {
 public:
  /// Deletes itself when gRPC is done with it.
  static DownloadStream* New(const DownloadContext& shared, grpc::CallbackServerContext& context,
                             const Method& method);

 private:
  DownloadStream(const DownloadContext& shared, grpc::CallbackServerContext& context,
                 const Method& method)
      : SingleRequestCall(shared.guard, context, method), shared_(shared), token_(shared.calls) {}
  static constexpr int64_t kPieceBytes = 1 << 20;

  absl::Status Open(const v1::DownloadResultRequest& request);
  /// Puts the next piece into `piece_`, or leaves `done_` true.
  absl::Status ReadPiece();

  void OnRequest(const grpc::ByteBuffer& bytes) override;
  void SendPiece();
  void OnWriteDone(bool ok) override;
  void OnEnd() override;
  void WatchReader();

  const DownloadContext& shared_;
  const CallCounter::Token token_;
  std::shared_ptr<DownloadStream> self_;  // held until OnEnd
  absl::Mutex mutex_;
  bool taken_ ABSL_GUARDED_BY(mutex_) = true;  // a piece since the alarm was set
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  std::string job_id_;  // that is asked for; empty: nothing is
  absl::Status outcome_ = absl::CancelledError("the client went away");
  // Used by one callback at a time: each starts the next write, or finishes.
  bool named_ = false;  // the files' names are sent (DICOM)
  bool done_ = false;
  std::vector<std::filesystem::path> files_;
  size_t next_file_ = 0;
  std::ifstream file_;
  int64_t left_ = 0;  // bytes of file_
  v1::DownloadResultResponse piece_;
  grpc::ByteBuffer outgoing_;
};

}  // namespace isocenter::rpc
