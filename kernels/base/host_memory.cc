#include "kernels/base/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kernels/base/bytes_text.h"

namespace isocenter {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// The number that follows `name` in a file of names and numbers.
std::optional<int64_t> ReadNumber(const std::filesystem::path& file, const std::string& name) {
  std::ifstream lines(file);
  std::string word;
  while (lines >> word) {
    int64_t number = 0;
    if (word == name && lines >> number) return number;
    lines.clear();
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

int64_t OfMachine() {
  const auto available = ReadNumber("/proc/meminfo", "MemAvailable:");
  const auto swap = ReadNumber("/proc/meminfo", "SwapFree:");
  if (available) return (*available + swap.value_or(0)) * 1024;
  return PhysicalMemoryBytes();
}

/// What a group (cgroup v2) may take beside what it cannot give back.
int64_t OfGroup(const std::filesystem::path& group) {
  std::ifstream file(group / "memory.max");
  int64_t most = 0;
  if (!(file >> most)) return kUnlimited;  // "max", or no such file
  return most - ReadNumber(group / "memory.stat", "anon").value_or(0);
}

int64_t OfGroups() {
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  std::string line, own;
  while (std::getline(file, line)) {
    absl::string_view path = line;
    if (absl::ConsumePrefix(&path, "0::/")) own = std::string(path);
  }
  int64_t least = OfGroup(root);
  for (std::filesystem::path group = root / own; group.string().size() > root.string().size() + 1;
       group = group.parent_path()) {
    least = std::min(least, OfGroup(group));
  }
  return least;
}

int64_t OfAddressSpace() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return static_cast<int64_t>(limit.rlim_cur) - pages * int64_t{sysconf(_SC_PAGESIZE)};
}

}  // namespace

int64_t PhysicalMemoryBytes() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)};
}

int64_t AvailableMemoryBytes() {
  return std::max<int64_t>(0, std::min({OfMachine(), OfGroups(), OfAddressSpace()}));
}

absl::Status CheckAvailableMemory(absl::string_view what, int64_t needed_bytes) {
  const int64_t available = AvailableMemoryBytes();
  if (needed_bytes <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(what, " needs ", BytesText(needed_bytes),
                                                   " of memory; ", BytesText(available),
                                                   " are available"));
}

}  // namespace isocenter
