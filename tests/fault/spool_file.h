// A job's spool file as it lies on the disk while no server runs: what it holds, and damage to it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "server/spool/format.h"
#include "tests/fault/campaign.h"

namespace isocenter::testing {

/// The file of a job, live or released; empty when there is none.
std::filesystem::path SpoolFileOf(const std::filesystem::path& spool, const std::string& job_id);

class SpoolFile {
 public:
  /// Failures to read are test failures.
  explicit SpoolFile(const std::filesystem::path& path);

  /// Frames whose slot is intact: header, place and checksum of the pixels.
  std::set<int> IntactFrames() const;
  bool is_finished() const;

  /// What the end of power may do to pages that were not synced: never written, written in part, or
  /// with other content. Returns false when chance has left the slot as it was.
  bool DamageSlot(int index, Chance& chance);
  void DamageFinish(Chance& chance);

 private:
  std::vector<std::byte> Read(int64_t offset, int64_t bytes) const;
  void Write(int64_t offset, const std::vector<std::byte>& bytes);
  void DamagePages(int64_t offset, int64_t pages, Chance& chance);

  const std::filesystem::path path_;
  spool::FileHeader header_;
  uint32_t tag_ = 0;
};

}  // namespace isocenter::testing
