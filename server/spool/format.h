// The spool file of one job: what stands where. docs/formats/spool.md describes it for readers who
// have a hex dump only; both change together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::spool {

inline constexpr int64_t kPageBytes = 4096;
inline constexpr uint32_t kVersion = 1;
inline constexpr int64_t kFinishOffset = kPageBytes;
inline constexpr int64_t kAcquisitionOffset = 2 * kPageBytes;
inline constexpr int64_t kSlotHeaderBytes = 256;
// Bounds of the format, so that sums and products of what a file says cannot overflow and no file
// makes its reader take much memory.
inline constexpr int64_t kMaxFrames = 1 << 20;
inline constexpr int64_t kMaxFrameBytes = int64_t{1} << 40;
inline constexpr int64_t kMaxAcquisitionBytes = 64 << 20;

/// Where the parts of a file are; follows from three numbers.
struct Layout {
  int64_t frames = 0;
  int64_t frame_bytes = 0;
  int64_t acquisition_bytes = 0;
  int64_t slot_stride = 0;
  int64_t slots_offset = 0;
  int64_t file_bytes = 0;

  int64_t SlotOffset(int64_t index) const { return slots_offset + index * slot_stride; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Errors: INVALID_ARGUMENT, outside the bounds of the format.
absl::StatusOr<Layout> MakeLayout(int64_t frames, int64_t frame_bytes, int64_t acquisition_bytes);

/// The first page.
struct FileHeader {
  std::string job_id;
  Layout layout;
  uint32_t acquisition_crc32c = 0;
  int64_t created_us = 0;  // since 1970-01-01T00:00:00Z
};

using Page = std::array<std::byte, kPageBytes>;
Page EncodeHeader(const FileHeader& header);
/// The checksum of a header, which every other record of the file repeats: a record that belongs to
/// another file is not taken for one of this.
uint32_t FileTag(const Page& header);
/// Errors: DATA_LOSS, saying what is wrong. All numbers of the result are within the bounds of the
/// format and agree with each other.
absl::StatusOr<FileHeader> DecodeHeader(const Page& page);

/// Says that the console has sent all frames.
using FinishRecord = std::array<std::byte, 32>;
FinishRecord EncodeFinish(uint32_t file_tag, int64_t finished_us);
/// False for anything but an intact record of this file.
bool IsFinish(const FinishRecord& record, uint32_t file_tag);

/// What stands before the pixels of a frame.
struct SlotHeader {
  enum class State : uint32_t { kFrame = 1, kGap = 2 };
  uint32_t index = 0;
  State state = State::kFrame;
  int64_t payload_bytes = 0;
  uint32_t payload_crc32c = 0;
  int64_t written_us = 0;  // since 1970-01-01T00:00:00Z
  std::optional<ProjectionMatrix> measured_matrix;
  float dose = 0;  // 0: not told
  std::optional<float> phase;
};

using SlotHeaderBytes = std::array<std::byte, kSlotHeaderBytes>;
SlotHeaderBytes EncodeSlot(const SlotHeader& slot, uint32_t file_tag);
/// Nothing for anything but an intact header of this very slot of this file, whose payload is a
/// frame's, or no bytes for a gap.
std::optional<SlotHeader> DecodeSlot(const SlotHeaderBytes& bytes, uint32_t file_tag, int64_t index,
                                     const Layout& layout);

}  // namespace isocenter::spool
