#include "tests/fault/spool_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "kernels/base/crc32c.h"

namespace isocenter::testing {

namespace fs = std::filesystem;

fs::path SpoolFileOf(const fs::path& spool, const std::string& job_id) {
  for (const char* suffix : {".spool", ".released"}) {
    if (fs::exists(spool / (job_id + suffix))) return spool / (job_id + suffix);
  }
  return {};
}

SpoolFile::SpoolFile(const fs::path& path) : path_(path) {
  spool::Page page{};
  const std::vector<std::byte> bytes = Read(0, spool::kPageBytes);
  std::ranges::copy(bytes, page.begin());
  const absl::StatusOr<spool::FileHeader> header = spool::DecodeHeader(page);
  EXPECT_TRUE(header.ok()) << path << ": " << header.status();
  if (header.ok()) header_ = *header;
  tag_ = spool::FileTag(page);
}

std::vector<std::byte> SpoolFile::Read(int64_t offset, int64_t bytes) const {
  std::vector<std::byte> read(bytes);
  std::ifstream file(path_, std::ios::binary);
  file.seekg(offset);
  EXPECT_TRUE(file.read(reinterpret_cast<char*>(read.data()), bytes)) << path_;
  return read;
}

void SpoolFile::Write(int64_t offset, const std::vector<std::byte>& bytes) {
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offset);
  EXPECT_TRUE(file.write(reinterpret_cast<const char*>(bytes.data()),
                         static_cast<std::streamsize>(bytes.size())))
      << path_;
}

std::set<int> SpoolFile::IntactFrames() const {
  std::set<int> intact;
  for (int i = 0; i < header_.layout.frames; ++i) {
    const std::vector<std::byte> slot =
        Read(header_.layout.SlotOffset(i), header_.layout.slot_stride);
    spool::SlotHeaderBytes bytes{};
    std::copy_n(slot.begin(), bytes.size(), bytes.begin());
    const auto decoded = spool::DecodeSlot(bytes, tag_, i, header_.layout);
    if (!decoded || decoded->state != spool::SlotHeader::State::kFrame) continue;
    const auto pixels = std::span(slot).subspan(spool::kSlotHeaderBytes, decoded->payload_bytes);
    if (Crc32c(pixels) == decoded->payload_crc32c) intact.insert(i);
  }
  return intact;
}

bool SpoolFile::is_finished() const {
  spool::FinishRecord record{};
  std::ranges::copy(Read(spool::kFinishOffset, record.size()), record.begin());
  return spool::IsFinish(record, tag_);
}

void SpoolFile::DamagePages(int64_t offset, int64_t pages, Chance& chance) {
  const int64_t first = chance.Integer(0, pages - 1);
  const int64_t kind = chance.Integer(0, 2);
  // 0: all from one page on was never written; 1: one page was not; 2: one holds something else.
  const int64_t count = kind == 0 ? pages - first : 1;
  std::vector<std::byte> bytes(count * spool::kPageBytes);
  if (kind == 2) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(chance.Integer(0, 255));
  }
  Write(offset + first * spool::kPageBytes, bytes);
}

bool SpoolFile::DamageSlot(int index, Chance& chance) {
  const int64_t offset = header_.layout.SlotOffset(index);
  const std::vector<std::byte> before = Read(offset, header_.layout.slot_stride);
  if (chance.OneIn(4)) return false;
  DamagePages(offset, header_.layout.slot_stride / spool::kPageBytes, chance);
  return Read(offset, header_.layout.slot_stride) != before;
}

void SpoolFile::DamageFinish(Chance& chance) { DamagePages(spool::kFinishOffset, 1, chance); }

}  // namespace isocenter::testing
