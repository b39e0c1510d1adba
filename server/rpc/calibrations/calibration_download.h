// One GetCalibration call.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>

#include "grpcpp/support/byte_buffer.h"
#include "isocenter/v1/calibration_service.pb.h"
#include "server/rpc/calibrations/calibration_upload.h"

namespace isocenter::rpc {

/// Sends a set's file piece by piece, as DownloadStream does.
class CalibrationDownload : public SingleRequestCall,
                            public std::enable_shared_from_this<CalibrationDownload> {
 public:
  /// Deletes itself when gRPC is done with it.
  static CalibrationDownload* New(const CalibrationContext& shared,
                                  grpc::CallbackServerContext& context, const Method& method);

 private:
  CalibrationDownload(const CalibrationContext& shared, grpc::CallbackServerContext& context,
                      const Method& method)
      : SingleRequestCall(shared.guard, context, method), shared_(shared), token_(shared.calls) {}

  void OnRequest(const grpc::ByteBuffer& bytes) override;
  void OnWriteDone(bool ok) override;
  void OnEnd() override;

  /// On the disk's thread: the whole file is read once before any of it is sent.
  absl::Status Open(const std::string& name);
  absl::Status ReadPiece();
  void SendPiece();

  const CalibrationContext& shared_;
  const CallCounter::Token token_;
  std::shared_ptr<CalibrationDownload> self_;  // held until OnEnd
  std::shared_ptr<IdleWatch> watch_;
  std::ifstream file_;
  int64_t left_ = 0;
  v1::GetCalibrationResponse piece_;
  grpc::ByteBuffer outgoing_;
};

}  // namespace isocenter::rpc
