// Frames that were acknowledged, kept in case their node is lost. For .cc files of client/ only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace isocenter::client {

/// Messages by their frames' indices: the first ones in memory, by reference, those beyond a bound
/// in a file without a name, which is gone with the process. Not thread-safe.
class FrameStore {
 public:
  /// `folder`: of the file, which is made when it is needed; empty: nothing is kept beyond
  /// `max_memory_bytes`.
  FrameStore(int64_t max_memory_bytes, std::string folder);
  ~FrameStore();
  FrameStore(const FrameStore&) = delete;
  FrameStore& operator=(const FrameStore&) = delete;

  /// Once for each frame. What cannot be kept is told by complete().
  void Put(uint32_t index, const grpc::ByteBuffer& message);
  /// Errors: those of reading the file; NOT_FOUND where the frame was never put or not kept.
  absl::StatusOr<grpc::ByteBuffer> Get(uint32_t index) const;
  /// OK when all that was put is there; else why the first that is not could not be kept.
  const absl::Status& complete() const { return complete_; }

 private:
  struct Place {
    int64_t offset = 0, bytes = 0;
  };
  absl::Status Write(uint32_t index, const grpc::ByteBuffer& message);
  absl::Status OpenFile();

  const int64_t max_memory_bytes_;
  const std::string folder_;
  std::map<uint32_t, grpc::ByteBuffer> in_memory_;
  std::map<uint32_t, Place> in_file_;
  int64_t memory_bytes_ = 0, file_bytes_ = 0;
  int file_ = -1;
  absl::Status complete_;
};

}  // namespace isocenter::client
