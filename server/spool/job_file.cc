#include "server/spool/job_file.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"

namespace isocenter::spool {
namespace {

// Pieces in which recovery reads frames: they stay in a core's cache between the copy out of the
// page cache and the checksum.
constexpr int64_t kVerifyBytes = 256 << 10;

absl::Status Damaged(const std::filesystem::path& path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("spool file ", path.string(), ": ", what));
}

absl::Status ChecksumDiffers(int index, uint32_t expected, uint32_t found,
                             absl::string_view why = "") {
  return absl::DataLossError(absl::StrFormat(
      "frame %d: its CRC-32C is %08x, of its pixels it is %08x%s", index, expected, found, why));
}

/// What a console computes that does not compute CRC-32C, as a clause; else empty: it is damage.
std::string OtherChecksum(const jobs::SpoolFrame& frame, uint32_t crc32c) {
  if (*frame.crc32c == __builtin_bswap32(crc32c)) {
    return ": the bytes of the checksum are reversed; legal is little-endian, as fixed32 is";
  }
  uint32_t crc32 = 0;
  for (const auto& piece : frame.pixels) crc32 = ExtendCrc32(crc32, piece);
  if (*frame.crc32c != crc32) return "";
  return ": it is the CRC-32 of zlib and Ethernet; legal is CRC-32C (Castagnoli), e3069283 of "
         "123456789";
}

}  // namespace

JobFile::JobFile(std::shared_ptr<File> file, const FileHeader& header, uint32_t tag,
                 std::string acquisition, const Services& services)
    : file_(std::move(file)),
      layout_(header.layout),
      tag_(tag),
      acquisition_(std::move(acquisition)),
      services_(services),
      slots_(header.layout.frames, Slot::kMissing),
      phases_(header.layout.frames) {}

JobFile::~JobFile() { services_.on_close(); }

absl::StatusOr<std::shared_ptr<JobFile>> JobFile::Create(const std::filesystem::path& path,
                                                         const FileHeader& header,
                                                         const std::string& acquisition,
                                                         const Services& services) {
  const Page page = EncodeHeader(header);
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::Create(path, header.layout.file_bytes));
  ISO_RETURN_IF_ERROR(file->Write(0, {Piece(page)}));
  ISO_RETURN_IF_ERROR(
      file->Write(kAcquisitionOffset, {Piece(std::as_bytes(std::span(acquisition)))}));
  ISO_RETURN_IF_ERROR(file->Sync(fdatasync));
  return std::shared_ptr<JobFile>(
      new JobFile(std::move(file), header, FileTag(page), acquisition, services));
}

absl::StatusOr<std::shared_ptr<JobFile>> JobFile::Open(const std::filesystem::path& path,
                                                       const std::string& job_id,
                                                       const Services& services) {
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::Open(path));
  ISO_ASSIGN_OR_RETURN(const int64_t bytes, file->Bytes());
  if (bytes < kAcquisitionOffset) {
    return Damaged(path, absl::StrCat(bytes, " bytes long, shorter than its header"));
  }
  Page page;
  ISO_RETURN_IF_ERROR(file->Read(0, {Piece(page)}));
  const auto header = DecodeHeader(page);
  if (!header.ok()) return Damaged(path, header.status().message());
  if (header->job_id != job_id) {
    return Damaged(path, absl::StrCat("it belongs to job ", header->job_id));
  }
  if (bytes != header->layout.file_bytes) {
    return Damaged(path,
                   absl::StrCat(bytes, " bytes long, its header says ", header->layout.file_bytes));
  }
  std::string acquisition(header->layout.acquisition_bytes, '\0');
  ISO_RETURN_IF_ERROR(
      file->Read(kAcquisitionOffset, {Piece(std::as_bytes(std::span(acquisition)))}));
  if (Crc32c(std::as_bytes(std::span(acquisition))) != header->acquisition_crc32c) {
    return Damaged(path, "the checksum of the acquisition's description differs");
  }
  const uint32_t tag = FileTag(page);
  FinishRecord finish;
  ISO_RETURN_IF_ERROR(file->Read(kFinishOffset, {Piece(finish)}));

  std::shared_ptr<JobFile> job(
      new JobFile(std::move(file), *header, tag, std::move(acquisition), services));
  ThreadPool pool(UsableCores());
  std::vector<std::vector<std::byte>> buffers(pool.threads(), std::vector<std::byte>(kVerifyBytes));
  std::vector<Found> found(job->layout_.frames);
  pool.ParallelFor(job->layout_.frames, [&](int64_t index, int worker) {
    found[index] = job->Verify(index, buffers[worker]);
  });
  absl::MutexLock lock(&job->mutex_);
  for (size_t i = 0; i < found.size(); ++i) {
    job->slots_[i] = found[i].slot;
    job->phases_[i] = found[i].phase;
  }
  job->finished_ = IsFinish(finish, tag);
  return job;
}

JobFile::Found JobFile::Verify(int64_t index, std::span<std::byte> buffer) const {
  int64_t at = layout_.SlotOffset(index);
  SlotHeaderBytes bytes;
  if (!file_->Read(at, {Piece(bytes)}).ok()) return {};
  const auto slot = DecodeSlot(bytes, tag_, index, layout_);
  if (!slot) return {};
  if (slot->state == SlotHeader::State::kGap) return {.slot = Slot::kGap};
  uint32_t crc = 0;
  at += kSlotHeaderBytes;
  for (int64_t left = slot->payload_bytes; left > 0;) {
    const auto piece = buffer.first(std::min<int64_t>(left, buffer.size()));
    if (!file_->Read(at, {Piece(piece)}).ok()) return {};
    crc = ExtendCrc32c(crc, piece);
    at += piece.size();
    left -= piece.size();
  }
  if (crc != slot->payload_crc32c) return {};
  return {.slot = Slot::kPresent, .phase = slot->phase};
}

std::vector<jobs::FrameState> JobFile::states() const {
  absl::MutexLock lock(&mutex_);
  std::vector<jobs::FrameState> states(slots_.size(), jobs::FrameState::kMissing);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == Slot::kPresent) states[i] = jobs::FrameState::kPresent;
    if (slots_[i] == Slot::kGap) states[i] = jobs::FrameState::kGap;
  }
  return states;
}

std::vector<std::optional<float>> JobFile::phases() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::optional<float>> phases = phases_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] != Slot::kPresent) phases[i].reset();
  }
  return phases;
}

bool JobFile::finished() const {
  absl::MutexLock lock(&mutex_);
  return finished_;
}

void JobFile::Append(jobs::SpoolFrame frame, std::function<void(absl::Status)> done) {
  services_.writers->Add(
      [self = shared_from_this(), frame = std::move(frame), done = std::move(done)]() mutable {
        self->Write(std::move(frame), std::move(done));
      });
}

absl::Status JobFile::Check(const jobs::SpoolFrame& frame) const {
  ISO_RETURN_IF_ERROR(file_->error());
  if (frame.index < 0 || frame.index >= layout_.frames) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", frame.index, " of a job of ", layout_.frames, " frames"));
  }
  uint64_t bytes = 0;
  for (const auto& piece : frame.pixels) bytes += piece.size();
  if (bytes != static_cast<uint64_t>(layout_.frame_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("frame ", frame.index, " has ", bytes,
                                                   " bytes; a frame of this job has ",
                                                   layout_.frame_bytes));
  }
  return absl::OkStatus();
}

void JobFile::Write(jobs::SpoolFrame frame, Done done) {
  if (absl::Status status = Check(frame); !status.ok()) return done(std::move(status));
  const int index = frame.index;
  const int64_t offset = layout_.SlotOffset(index);
  bool is_there = false;
  {
    absl::MutexLock lock(&mutex_);
    if (slots_[index] == Slot::kBusy) {
      waiting_.emplace(index, Waiting{std::move(frame), std::move(done)});
      return;
    }
    is_there = slots_[index] != Slot::kMissing;
    if (!is_there) slots_[index] = Slot::kBusy;
  }
  if (is_there) {
    // Its first write may not have been synced yet.
    return services_.committer->OnWritten(file_, offset, 0, std::move(done));
  }
  absl::Status status = WriteSlot(frame);
  Settle(index, status.ok() ? Found{Slot::kPresent, frame.phase} : Found());
  if (!status.ok()) return done(std::move(status));
  frame.memory.reset();  // the network needs it more than a commit that waits for the disk
  services_.committer->OnWritten(file_, offset, layout_.slot_stride, std::move(done));
}

absl::Status JobFile::WriteSlot(const jobs::SpoolFrame& frame) {
  SlotHeader slot;
  slot.index = frame.index;
  slot.state = SlotHeader::State::kFrame;
  slot.payload_bytes = layout_.frame_bytes;
  slot.written_us = NowMicros();
  slot.measured_matrix = frame.measured_matrix;
  slot.dose = frame.dose;
  slot.phase = frame.phase;
  for (const auto& piece : frame.pixels) {
    slot.payload_crc32c = ExtendCrc32c(slot.payload_crc32c, piece);
  }
  if (frame.crc32c && *frame.crc32c != slot.payload_crc32c) {
    return ChecksumDiffers(frame.index, *frame.crc32c, slot.payload_crc32c,
                           OtherChecksum(frame, slot.payload_crc32c));
  }
  const SlotHeaderBytes bytes = EncodeSlot(slot, tag_);
  std::vector<iovec> pieces = {Piece(bytes)};
  for (const auto& piece : frame.pixels) pieces.push_back(Piece(piece));
  return file_->Write(layout_.SlotOffset(frame.index), std::move(pieces));
}

void JobFile::Settle(int index, const Found& now) {
  std::vector<Waiting> next;
  {
    absl::MutexLock lock(&mutex_);
    slots_[index] = now.slot;
    phases_[index] = now.phase;
    const auto [first, last] = waiting_.equal_range(index);
    for (auto it = first; it != last; ++it) next.push_back(std::move(it->second));
    waiting_.erase(first, last);
  }
  for (Waiting& waiting : next) Append(std::move(waiting.frame), std::move(waiting.done));
}

absl::Status JobFile::DeclareGap(int index) {
  ISO_RETURN_IF_ERROR(file_->error());
  if (index < 0 || index >= layout_.frames) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", index, " of a job of ", layout_.frames, " frames"));
  }
  {
    absl::MutexLock lock(&mutex_);
    const auto is_settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return slots_[index] != Slot::kBusy;
    };
    mutex_.Await(absl::Condition(&is_settled));
    if (slots_[index] == Slot::kGap) return absl::OkStatus();
    if (slots_[index] == Slot::kPresent) {
      return absl::FailedPreconditionError(absl::StrCat("frame ", index, " is there"));
    }
    slots_[index] = Slot::kBusy;
  }
  SlotHeader slot;
  slot.index = index;
  slot.state = SlotHeader::State::kGap;
  slot.written_us = NowMicros();
  const SlotHeaderBytes bytes = EncodeSlot(slot, tag_);
  absl::Status status = file_->Write(layout_.SlotOffset(index), {Piece(bytes)});
  if (status.ok()) status = services_.committer->CommitRecord(file_, kSlotHeaderBytes);
  Settle(index, {.slot = status.ok() ? Slot::kGap : Slot::kMissing});
  return status;
}

absl::Status JobFile::Finish() {
  ISO_RETURN_IF_ERROR(file_->error());
  if (finished()) return absl::OkStatus();
  const FinishRecord record = EncodeFinish(tag_, NowMicros());
  ISO_RETURN_IF_ERROR(file_->Write(kFinishOffset, {Piece(record)}));
  ISO_RETURN_IF_ERROR(services_.committer->CommitRecord(file_, record.size()));
  absl::MutexLock lock(&mutex_);
  finished_ = true;
  return absl::OkStatus();
}

absl::StatusOr<jobs::FrameMeasurement> JobFile::Read(int index, std::span<std::byte> pixels) {
  if (pixels.size() != static_cast<size_t>(layout_.frame_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("room for ", pixels.size(), " bytes; a frame has ", layout_.frame_bytes));
  }
  ISO_RETURN_IF_ERROR(CheckPresent(index));
  auto measurement = ReadSlot(index, pixels);
  if (absl::IsDataLoss(measurement.status())) {
    absl::MutexLock lock(&mutex_);
    // Somebody else may have found out before, and the frame be on its way again.
    if (slots_[index] == Slot::kPresent) slots_[index] = Slot::kMissing;
  }
  return measurement;
}

absl::Status JobFile::CheckPresent(int index) const {
  absl::MutexLock lock(&mutex_);
  if (index >= 0 && index < layout_.frames && slots_[index] == Slot::kPresent) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("frame ", index, " is not in the spool"));
}

absl::StatusOr<SlotHeader> JobFile::HeaderOf(int index, const SlotHeaderBytes& bytes) const {
  const auto slot = DecodeSlot(bytes, tag_, index, layout_);
  if (slot && slot->state == SlotHeader::State::kFrame) return *slot;
  return Damaged(file_->path(), absl::StrCat("the header of frame ", index, " is damaged"));
}

absl::StatusOr<uint32_t> JobFile::Checksum(int index) const {
  ISO_RETURN_IF_ERROR(CheckPresent(index));
  SlotHeaderBytes bytes;
  ISO_RETURN_IF_ERROR(file_->Read(layout_.SlotOffset(index), {Piece(bytes)}));
  ISO_ASSIGN_OR_RETURN(const SlotHeader slot, HeaderOf(index, bytes));
  return slot.payload_crc32c;
}

absl::StatusOr<jobs::FrameMeasurement> JobFile::ReadSlot(int index,
                                                         std::span<std::byte> pixels) const {
  SlotHeaderBytes bytes;
  ISO_RETURN_IF_ERROR(file_->Read(layout_.SlotOffset(index), {Piece(bytes), Piece(pixels)}));
  ISO_ASSIGN_OR_RETURN(const SlotHeader slot, HeaderOf(index, bytes));
  const uint32_t crc = Crc32c(pixels);
  if (slot.payload_crc32c != crc) return ChecksumDiffers(index, slot.payload_crc32c, crc);
  return jobs::FrameMeasurement{
      .matrix = slot.measured_matrix, .dose = slot.dose, .phase = slot.phase};
}

}  // namespace isocenter::spool
