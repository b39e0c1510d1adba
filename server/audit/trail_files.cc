#include "server/audit/trail_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace isocenter::audit {
namespace {

namespace fs = std::filesystem;

constexpr int kDigits = 12;

}  // namespace

std::string ClosedName(const std::string& path, int64_t first) {
  return absl::StrCat(path, ".", absl::StrFormat("%0*d", kDigits, first));
}

std::vector<ClosedFile> ClosedFiles(const std::string& path) {
  const fs::path whole(path);
  const fs::path directory = whole.has_parent_path() ? whole.parent_path() : ".";
  const std::string prefix = absl::StrCat(whole.filename().string(), ".");
  std::vector<ClosedFile> closed;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    absl::string_view number = name;
    int64_t first = 0;
    if (absl::ConsumePrefix(&number, prefix) && number.size() >= kDigits &&
        std::ranges::all_of(number, absl::ascii_isdigit) && absl::SimpleAtoi(number, &first)) {
      std::error_code unknown;
      const uintmax_t bytes = entry->file_size(unknown);
      closed.push_back({entry->path().string(), first, unknown ? 0 : bytes});
    }
  }
  std::ranges::sort(closed, {}, &ClosedFile::first);
  return closed;
}

}  // namespace isocenter::audit
