// One DownloadResult call.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "isocenter/v1/jobs.pb.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/rpc/call_counter.h"

namespace isocenter::rpc {

/// Sends stored files piece by piece; the next piece is read when the last one has been taken, so a
/// slow client costs one piece of memory.
class DownloadStream : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  /// Told once whether all was sent.
  using OnEnd = std::function<void(const absl::Status& outcome)>;

  /// A reactor that deletes itself when gRPC is done with it.
  static DownloadStream* Start(const jobs::JobTable& table, jobs::ResultStore& results,
                               CallCounter& calls, const v1::DownloadResultRequest& request,
                               OnEnd on_end);

 private:
  DownloadStream(CallCounter& calls, OnEnd on_end) : token_(calls), on_end_(std::move(on_end)) {}
  static constexpr int64_t kPieceBytes = 1 << 20;

  absl::Status Open(const jobs::JobTable& table, jobs::ResultStore& results,
                    const v1::DownloadResultRequest& request);
  /// Puts the next piece into `piece_`, or leaves `done_` true.
  absl::Status ReadPiece();

  void SendPiece();
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  const CallCounter::Token token_;
  const OnEnd on_end_;
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
