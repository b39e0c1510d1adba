// Reads an AcquireRequest where it lies, so that a frame's pixels are never copied on their way
// from the network to the disk.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::rpc {

/// A message as gRPC received it: a run of slices.
class RawMessage {
 public:
  explicit RawMessage(const grpc::ByteBuffer& buffer);

  int64_t bytes() const { return bytes_; }

  /// A frame. Its pixels stay in the message's slices, unless the message holds another kind of
  /// message as well.
  struct Frame {
    v1::Frame fields;  // all but the pixels
    std::vector<std::span<const std::byte>> pixels;
    std::shared_ptr<const void> memory;  // of the pixels

    /// Unset: not told.
    std::optional<float> phase() const {
      return fields.has_phase() ? std::optional(fields.phase()) : std::nullopt;
    }
  };
  /// Nothing when the message is not a frame. Errors: INVALID_ARGUMENT (not an AcquireRequest).
  absl::StatusOr<std::optional<Frame>> AsFrame() const;

  /// The whole message, of at most kLongestHeaderBytes. Errors: INVALID_ARGUMENT (longer, or not an
  /// AcquireRequest).
  absl::StatusOr<v1::AcquireRequest> Parse() const;
  /// The whole message as one of another kind, whose length is the caller's matter. Errors:
  /// INVALID_ARGUMENT.
  absl::Status ParseAs(google::protobuf::Message& message) const;

 private:
  absl::Status NotAMessage() const;
  /// Of a message of several kinds, of which the last counts; copies the pixels.
  absl::StatusOr<std::optional<Frame>> AsParsedFrame() const;
  std::vector<std::span<const std::byte>> Pieces(int64_t first, int64_t count) const;

  std::shared_ptr<std::vector<grpc::Slice>> slices_;
  int64_t bytes_ = 0;
};

}  // namespace isocenter::rpc
