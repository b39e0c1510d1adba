// Spool files. An input says what a header and its records claim, so that their checksums are
// right, then which bytes are changed afterwards.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/crc32c.h"
#include "server/spool/format.h"
#include "server/spool/spool.h"
#include "tests/fuzz/input.h"

using namespace isocenter;         // NOLINT
using namespace isocenter::spool;  // NOLINT

namespace {

constexpr char kJob[] = "job";

/// With a job that inputs take the place of.
Spool& TestSpool() {
  static const std::unique_ptr<Spool> spool = [] {
    auto opened = Spool::Open({.directory = fuzz::Directory(), .sync = SyncPolicy::kNever});
    fuzz::Require(opened.ok() && (*opened)->Create(kJob, "", 1, 1, 0).ok(), "a spool can be made");
    return *std::move(opened);
  }();
  return *spool;
}

template <class Bytes>
void Put(const Bytes& bytes, size_t at, std::string& file) {
  if (at >= file.size()) return;
  const size_t count = std::min(bytes.size(), file.size() - at);
  std::memcpy(file.data() + at, bytes.data(), count);
}

FileHeader TakeHeader(fuzz::Input& input, absl::string_view acquisition) {
  const auto flags = input.TakeNumber<uint8_t>();
  FileHeader header{.job_id = flags & 1 ? std::string(input.TakeText()) : kJob};
  Layout& layout = header.layout;
  layout = *MakeLayout(input.TakeNumber<uint8_t>() % 8 + 1, input.TakeNumber<uint8_t>() + 1,
                       acquisition.size());
  for (int64_t* number : {&layout.frames, &layout.frame_bytes, &layout.acquisition_bytes,
                          &layout.slot_stride, &layout.slots_offset, &layout.file_bytes}) {
    if (flags & 2) *number ^= input.TakeNumber<int64_t>();
  }
  header.acquisition_crc32c = Crc32c(std::as_bytes(std::span(acquisition)));
  return header;
}

std::string TakeFile(fuzz::Input& input) {
  const absl::string_view acquisition = input.Take(input.TakeNumber<uint8_t>());
  const FileHeader claimed = TakeHeader(input, acquisition);
  const Page page = EncodeHeader(claimed);
  constexpr int64_t kMostBytes = 64 * kPageBytes;
  std::string file(std::clamp<int64_t>(claimed.layout.file_bytes, 0, kMostBytes), '\0');
  Put(page, 0, file);
  Put(acquisition, kAcquisitionOffset, file);
  if (input.TakeNumber<uint8_t>() & 1) Put(EncodeFinish(FileTag(page), 0), kFinishOffset, file);
  const int64_t slots = input.TakeNumber<uint8_t>() % 9;
  for (int64_t at = 0; at < slots; ++at) {
    const auto flags = input.TakeNumber<uint8_t>();
    const size_t bytes = std::clamp<int64_t>(claimed.layout.frame_bytes, 0, kPageBytes);
    std::string pixels(input.Take(flags & 64 ? input.TakeNumber<uint8_t>() : bytes));
    if (!(flags & 64)) pixels.resize(bytes);
    SlotHeader slot{.index = static_cast<uint32_t>(at),
                    .state = static_cast<SlotHeader::State>(flags & 3),
                    .payload_bytes = static_cast<int64_t>(pixels.size()),
                    .payload_crc32c = Crc32c(std::as_bytes(std::span(pixels)))};
    if (flags & 4) slot.index ^= input.TakeNumber<uint32_t>();
    if (flags & 8) slot.payload_bytes ^= input.TakeNumber<int64_t>();
    if (flags & 16) slot.payload_crc32c ^= input.TakeNumber<uint32_t>();
    if (flags & 32) slot.measured_matrix.emplace().m[0] = input.TakeNumber<double>();
    const uint64_t offset = uint64_t(claimed.layout.slots_offset) +
                            uint64_t(at) * static_cast<uint64_t>(claimed.layout.slot_stride);
    Put(EncodeSlot(slot, FileTag(page)), offset, file);
    if (offset < file.size()) Put(pixels, offset + kSlotHeaderBytes, file);
  }
  while (!input.empty()) {  // damage
    const auto at = input.TakeNumber<uint32_t>();
    const auto change = input.TakeNumber<uint8_t>();
    if (at < file.size()) {
      file[at] = static_cast<char>(file[at] ^ change);
    } else {
      file.resize(at % kMostBytes);
    }
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Spool& spool = TestSpool();
  fuzz::Input input(data, size);
  const std::string file = TakeFile(input);
  fuzz::FileOf(file, std::string(kJob) + ".spool");
  const auto job = spool.Open(kJob);
  if (!job.ok()) return 0;

  Page page;
  std::memcpy(page.data(), file.data(), page.size());
  const auto header = DecodeHeader(page);
  fuzz::Require(header.ok() && header->layout.file_bytes == static_cast<int64_t>(file.size()),
                "an open file is as long as it says");
  const auto states = (*job)->states();
  fuzz::Require(static_cast<int64_t>(states.size()) == header->layout.frames, "a state per frame");
  std::vector<std::byte> pixels(header->layout.frame_bytes);
  for (int i = -1; i <= static_cast<int>(states.size()); ++i) {
    const bool inside = i >= 0 && i < static_cast<int>(states.size());
    const bool present = inside && states[i] == jobs::FrameState::kPresent;
    fuzz::Require((*job)->Read(i, pixels).ok() == present, "what is present can be read");
  }
  return 0;
}
