// Disks of a few megabytes, which run full.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isocenter::testing {

/// Gives this process mounts of its own, which disappear with it. First in main, while there is one
/// thread only; what it could not do is told by SmallDisks::Make.
void EnterOwnMounts();

/// Disks that are unmounted when it is destroyed.
class SmallDisks {
 public:
  SmallDisks() = default;
  ~SmallDisks();
  SmallDisks(const SmallDisks&) = delete;
  SmallDisks& operator=(const SmallDisks&) = delete;

  /// A directory that is a disk of `bytes`. Empty, or why that is not possible here.
  std::string Make(const std::filesystem::path& path, int64_t bytes);

 private:
  std::vector<std::filesystem::path> disks_;
};

/// Another program takes all of the disk but `free` bytes, in the file "filler".
void FillDisk(const std::filesystem::path& disk, int64_t free);
/// And gives them back.
void FreeDisk(const std::filesystem::path& disk);

}  // namespace isocenter::testing
