#include "client/frame_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/ops/corrections.h"
#include "proto/wire/geometry.h"

namespace isocenter::client {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

uint8_t* WriteTag(int field, WireFormatLite::WireType type, uint8_t* out) {
  return CodedOutputStream::WriteVarint32ToArray(WireFormatLite::MakeTag(field, type), out);
}

}  // namespace

grpc::Slice CopyPixels(std::span<const std::byte> pixels) { return {pixels.data(), pixels.size()}; }

grpc::Slice OwnPixels(std::vector<std::byte> pixels) {
  auto* owned = new std::vector<std::byte>(std::move(pixels));
  return {owned->data(), owned->size(),
          [](void* vector) { delete static_cast<std::vector<std::byte>*>(vector); }, owned};
}

absl::Status CheckFrameValues(uint32_t index, const std::optional<ProjectionMatrix>& measured,
                              float dose, std::optional<float> phase) {
  ISO_RETURN_IF_ERROR(ops::CheckGivenDose(index, dose));
  if (phase) ISO_RETURN_IF_ERROR(CheckPhase(absl::StrCat("the phase of frame ", index), *phase));
  if (!measured) return absl::OkStatus();
  const absl::Status matrix = Decompose(*measured).status();
  if (matrix.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the measured matrix of frame ", index, ": ", matrix.message()));
}

grpc::ByteBuffer FrameMessage(uint32_t index, const grpc::Slice& pixels,
                              const std::optional<ProjectionMatrix>& measured, float dose,
                              std::optional<float> phase) {
  // Protobuf writes fields in the order of their numbers: index and pixels come first, and what
  // follows them is the message that has neither.
  v1::Frame rest;
  rest.set_crc32c(Crc32c(std::as_bytes(std::span(pixels.begin(), pixels.size()))));
  rest.set_has_checksum(true);
  if (measured) *rest.mutable_measured_matrix() = wire::ToProto(*measured);
  if (dose != 0) rest.set_dose(dose);
  if (phase) rest.set_phase(*phase);
  const std::string suffix = rest.SerializeAsString();

  std::array<uint8_t, 32> head;
  uint8_t* end = head.data();
  if (index != 0) {
    end = WriteTag(v1::Frame::kIndexFieldNumber, WireFormatLite::WIRETYPE_VARINT, end);
    end = CodedOutputStream::WriteVarint32ToArray(index, end);
  }
  if (pixels.size() != 0) {
    end = WriteTag(v1::Frame::kPixelsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, end);
    end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(pixels.size()), end);
  }
  const size_t head_bytes = end - head.data();

  std::array<uint8_t, 64> prefix;
  end = WriteTag(v1::AcquireRequest::kFrameFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED,
                 prefix.data());
  end = CodedOutputStream::WriteVarint32ToArray(
      static_cast<uint32_t>(head_bytes + pixels.size() + suffix.size()), end);
  end = std::copy_n(head.data(), head_bytes, end);

  const grpc::Slice slices[] = {
      grpc::Slice(prefix.data(), static_cast<size_t>(end - prefix.data())), pixels,
      grpc::Slice(suffix)};
  return grpc::ByteBuffer(slices, 3);
}

}  // namespace isocenter::client
