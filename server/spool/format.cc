#include "server/spool/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"

namespace isocenter::spool {
namespace {

// Numbers are copied to and from the file as they are in memory.
static_assert(std::endian::native == std::endian::little);

constexpr char kFileMagic[] = "ISOSPOOL";
constexpr char kFinishMagic[] = "FINISHED";
constexpr char kSlotMagic[] = "SLOT";
constexpr uint32_t kFlagMatrix = 1, kFlagDose = 2, kFlagPhase = 4;
constexpr size_t kMaxJobIdBytes = 64;

// Offsets in the header page.
constexpr size_t kVersionAt = 0x08, kHeaderBytesAt = 0x0C, kFileBytesAt = 0x10, kFramesAt = 0x18,
                 kFrameBytesAt = 0x20, kSlotStrideAt = 0x28, kSlotsOffsetAt = 0x30,
                 kAcquisitionOffsetAt = 0x38, kAcquisitionBytesAt = 0x40, kAcquisitionCrcAt = 0x48,
                 kJobIdBytesAt = 0x4C, kCreatedAt = 0x50, kJobIdAt = 0x58;
// Offsets in the finish record.
constexpr size_t kFinishedAt = 0x08, kFinishTagAt = 0x10;
// Offsets in a slot.
constexpr size_t kIndexAt = 0x04, kStateAt = 0x08, kFlagsAt = 0x0C, kPayloadBytesAt = 0x10,
                 kWrittenAt = 0x18, kPayloadCrcAt = 0x20, kSlotTagAt = 0x24, kMatrixAt = 0x28,
                 kDoseAt = 0x88, kPhaseAt = 0x8C;

template <class T>
void Put(std::span<std::byte> to, size_t offset, T value) {
  std::memcpy(to.data() + offset, &value, sizeof(value));
}

template <class T>
T Get(std::span<const std::byte> from, size_t offset) {
  T value;
  std::memcpy(&value, from.data() + offset, sizeof(value));
  return value;
}

void PutText(std::span<std::byte> to, size_t offset, const char* text, size_t bytes) {
  std::memcpy(to.data() + offset, text, bytes);
}

bool HasMagic(std::span<const std::byte> bytes, const char* magic) {
  return std::memcmp(bytes.data(), magic, std::strlen(magic)) == 0;
}

// Every record ends in the checksum of all that stands before it.
constexpr size_t kCrcBytes = 4;

void Seal(std::span<std::byte> record) {
  const size_t body = record.size() - kCrcBytes;
  Put(record, body, Crc32c(record.first(body)));
}

bool IsIntact(std::span<const std::byte> record) {
  const size_t body = record.size() - kCrcBytes;
  return Get<uint32_t>(record, body) == Crc32c(record.first(body));
}

int64_t RoundUpToPages(int64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

}  // namespace

absl::StatusOr<Layout> MakeLayout(int64_t frames, int64_t frame_bytes, int64_t acquisition_bytes) {
  const auto check = [](const char* what, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", value, ", legal is ", least, " to ", most));
  };
  ISO_RETURN_IF_ERROR(check("the number of frames", frames, 1, kMaxFrames));
  ISO_RETURN_IF_ERROR(check("the size of a frame in bytes", frame_bytes, 1, kMaxFrameBytes));
  ISO_RETURN_IF_ERROR(check("the size of the acquisition's description in bytes", acquisition_bytes,
                            0, kMaxAcquisitionBytes));
  Layout layout;
  layout.frames = frames;
  layout.frame_bytes = frame_bytes;
  layout.acquisition_bytes = acquisition_bytes;
  layout.slot_stride = RoundUpToPages(kSlotHeaderBytes + frame_bytes);
  layout.slots_offset = kAcquisitionOffset + RoundUpToPages(acquisition_bytes);
  layout.file_bytes = layout.SlotOffset(frames);
  return layout;
}

Page EncodeHeader(const FileHeader& header) {
  Page page{};
  PutText(page, 0, kFileMagic, std::strlen(kFileMagic));
  Put(page, kVersionAt, kVersion);
  Put(page, kHeaderBytesAt, static_cast<uint32_t>(kPageBytes));
  Put(page, kFileBytesAt, header.layout.file_bytes);
  Put(page, kFramesAt, header.layout.frames);
  Put(page, kFrameBytesAt, header.layout.frame_bytes);
  Put(page, kSlotStrideAt, header.layout.slot_stride);
  Put(page, kSlotsOffsetAt, header.layout.slots_offset);
  Put(page, kAcquisitionOffsetAt, kAcquisitionOffset);
  Put(page, kAcquisitionBytesAt, header.layout.acquisition_bytes);
  Put(page, kAcquisitionCrcAt, header.acquisition_crc32c);
  Put(page, kJobIdBytesAt, static_cast<uint32_t>(header.job_id.size()));
  Put(page, kCreatedAt, header.created_us);
  PutText(page, kJobIdAt, header.job_id.data(), std::min(header.job_id.size(), kMaxJobIdBytes));
  Seal(page);
  return page;
}

uint32_t FileTag(const Page& header) { return Get<uint32_t>(header, kPageBytes - kCrcBytes); }

absl::StatusOr<FileHeader> DecodeHeader(const Page& page) {
  if (!HasMagic(page, kFileMagic)) {
    return absl::DataLossError("not a spool file: it does not begin with ISOSPOOL");
  }
  // Before the checksum, whose place another version may have changed.
  const auto version = Get<uint32_t>(page, kVersionAt);
  if (version != kVersion) {
    return absl::DataLossError(absl::StrCat("a spool file of version ", version,
                                            "; this program reads version ", kVersion));
  }
  if (!IsIntact(page)) return absl::DataLossError("the checksum of the header differs");

  const auto layout = MakeLayout(Get<int64_t>(page, kFramesAt), Get<int64_t>(page, kFrameBytesAt),
                                 Get<int64_t>(page, kAcquisitionBytesAt));
  if (!layout.ok()) {
    return absl::DataLossError(absl::StrCat("the header says: ", layout.status().message()));
  }
  const auto job_id_bytes = Get<uint32_t>(page, kJobIdBytesAt);
  if (Get<uint32_t>(page, kHeaderBytesAt) != kPageBytes ||
      Get<int64_t>(page, kFileBytesAt) != layout->file_bytes ||
      Get<int64_t>(page, kSlotStrideAt) != layout->slot_stride ||
      Get<int64_t>(page, kSlotsOffsetAt) != layout->slots_offset ||
      Get<int64_t>(page, kAcquisitionOffsetAt) != kAcquisitionOffset ||
      job_id_bytes > kMaxJobIdBytes) {
    return absl::DataLossError("the numbers of the header contradict each other");
  }
  FileHeader header;
  header.layout = *layout;
  header.acquisition_crc32c = Get<uint32_t>(page, kAcquisitionCrcAt);
  header.created_us = Get<int64_t>(page, kCreatedAt);
  header.job_id.assign(reinterpret_cast<const char*>(page.data()) + kJobIdAt, job_id_bytes);
  return header;
}

FinishRecord EncodeFinish(uint32_t file_tag, int64_t finished_us) {
  FinishRecord record{};
  PutText(record, 0, kFinishMagic, std::strlen(kFinishMagic));
  Put(record, kFinishedAt, finished_us);
  Put(record, kFinishTagAt, file_tag);
  Seal(record);
  return record;
}

bool IsFinish(const FinishRecord& record, uint32_t file_tag) {
  return HasMagic(record, kFinishMagic) && IsIntact(record) &&
         Get<uint32_t>(record, kFinishTagAt) == file_tag;
}

SlotHeaderBytes EncodeSlot(const SlotHeader& slot, uint32_t file_tag) {
  SlotHeaderBytes bytes{};
  PutText(bytes, 0, kSlotMagic, std::strlen(kSlotMagic));
  Put(bytes, kIndexAt, slot.index);
  Put(bytes, kStateAt, static_cast<uint32_t>(slot.state));
  Put(bytes, kFlagsAt,
      (slot.measured_matrix ? kFlagMatrix : 0u) | (slot.dose != 0 ? kFlagDose : 0u) |
          (slot.phase ? kFlagPhase : 0u));
  Put(bytes, kPayloadBytesAt, slot.payload_bytes);
  Put(bytes, kWrittenAt, slot.written_us);
  Put(bytes, kPayloadCrcAt, slot.payload_crc32c);
  Put(bytes, kSlotTagAt, file_tag);
  if (slot.measured_matrix) Put(bytes, kMatrixAt, slot.measured_matrix->m);
  Put(bytes, kDoseAt, slot.dose);
  Put(bytes, kPhaseAt, slot.phase.value_or(0));
  Seal(bytes);
  return bytes;
}

std::optional<SlotHeader> DecodeSlot(const SlotHeaderBytes& bytes, uint32_t file_tag, int64_t index,
                                     const Layout& layout) {
  if (!HasMagic(bytes, kSlotMagic) || !IsIntact(bytes) ||
      Get<uint32_t>(bytes, kSlotTagAt) != file_tag) {
    return std::nullopt;
  }
  SlotHeader slot;
  slot.index = Get<uint32_t>(bytes, kIndexAt);
  slot.state = static_cast<SlotHeader::State>(Get<uint32_t>(bytes, kStateAt));
  slot.payload_bytes = Get<int64_t>(bytes, kPayloadBytesAt);
  slot.written_us = Get<int64_t>(bytes, kWrittenAt);
  slot.payload_crc32c = Get<uint32_t>(bytes, kPayloadCrcAt);
  const auto flags = Get<uint32_t>(bytes, kFlagsAt);
  if (flags & kFlagMatrix) {
    slot.measured_matrix.emplace().m = Get<std::array<double, 12>>(bytes, kMatrixAt);
  }
  if (flags & kFlagDose) slot.dose = Get<float>(bytes, kDoseAt);
  if (flags & kFlagPhase) slot.phase = Get<float>(bytes, kPhaseAt);
  const bool frame =
      slot.state == SlotHeader::State::kFrame && slot.payload_bytes == layout.frame_bytes;
  const bool gap = slot.state == SlotHeader::State::kGap && slot.payload_bytes == 0;
  if (slot.index != index || !(frame || gap)) return std::nullopt;
  return slot;
}

}  // namespace isocenter::spool
