#include "tests/fault/small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace isocenter::testing {
namespace {

namespace fs = std::filesystem;

bool WriteText(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

std::string TryOwnMounts() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return std::strerror(errno);
    WriteText("/proc/self/setgroups", "deny");
    if (!WriteText("/proc/self/uid_map", absl::StrCat("0 ", user, " 1")) ||
        !WriteText("/proc/self/gid_map", absl::StrCat("0 ", group, " 1"))) {
      return "user ids cannot be mapped";
    }
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return std::strerror(errno);
  return "";
}

std::string& WhyNoMounts() {
  static std::string& why = *new std::string("EnterOwnMounts was not called");
  return why;
}

}  // namespace

void EnterOwnMounts() { WhyNoMounts() = TryOwnMounts(); }

SmallDisks::~SmallDisks() {
  for (const fs::path& disk : disks_) umount2(disk.c_str(), MNT_DETACH);
}

std::string SmallDisks::Make(const fs::path& path, int64_t bytes) {
  fs::create_directories(path);
  if (!WhyNoMounts().empty()) return WhyNoMounts();
  const std::string options = absl::StrCat("size=", bytes, ",mode=700");
  if (mount("none", path.c_str(), "tmpfs", 0, options.c_str()) != 0) return std::strerror(errno);
  disks_.push_back(path);
  return "";
}

void FillDisk(const fs::path& disk, int64_t free) {
  std::ofstream filler(disk / "filler", std::ios::binary | std::ios::app);
  while (static_cast<int64_t>(fs::space(disk).available) > free) {
    if (!(filler << std::string(4096, 'x') << std::flush)) break;
  }
}

void FreeDisk(const fs::path& disk) { fs::remove(disk / "filler"); }

}  // namespace isocenter::testing
