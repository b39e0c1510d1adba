// One frame as the bytes of an AcquireRequest, without a copy of its pixels. For .cc files of
// client/ only.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::client {

/// A slice with a copy of `pixels`.
grpc::Slice CopyPixels(std::span<const std::byte> pixels);
/// A slice that owns `pixels`; they are freed with its last reference.
grpc::Slice OwnPixels(std::vector<std::byte> pixels);

/// What a frame says beside its pixels. Errors: INVALID_ARGUMENT with the frame, the value and what
/// is legal: the service would end the acquisition for it, after the exposure.
absl::Status CheckFrameValues(uint32_t index, const std::optional<ProjectionMatrix>& measured,
                              float dose, std::optional<float> phase);

/// The same bytes as AcquireRequest.SerializeAsString() of a frame with these fields and the
/// CRC-32C of its pixels, which are referred to and not copied.
grpc::ByteBuffer FrameMessage(uint32_t index, const grpc::Slice& pixels,
                              const std::optional<ProjectionMatrix>& measured, float dose = 0,
                              std::optional<float> phase = std::nullopt);

}  // namespace isocenter::client
