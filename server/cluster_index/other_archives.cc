#include "server/cluster_index/other_archives.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace isocenter::cluster_index {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLongestName = 255;

/// A name in a directory, as the archive makes them: job ids, random numbers, "00001.dcm".
bool IsName(absl::string_view name) {
  const bool is_plain = std::ranges::all_of(
      name, [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; });
  return is_plain && !name.empty() && name.size() <= kLongestName &&
         name.find_first_not_of('.') != absl::string_view::npos;
}

bool IsCleanPath(absl::string_view path) {
  const std::vector<absl::string_view> names = absl::StrSplit(path, '/');
  return path.size() <= kLongestName && std::ranges::all_of(names, IsName);
}

/// Whether `path`, without links, is below `root`.
bool IsBelow(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

}  // namespace

OtherArchives::OtherArchives(std::string own, fs::path own_results, std::string archives,
                             std::vector<std::string> nodes)
    : own_(std::move(own)),
      own_results_(std::move(own_results)),
      archives_(std::move(archives)),
      nodes_(std::move(nodes)) {
  std::ranges::sort(nodes_);
}

fs::path OtherArchives::ResultsOf(const std::string& node) const {
  if (node == own_) return own_results_;
  if (archives_.empty()) return {};
  return fs::path(absl::StrReplaceAll(archives_, {{"{node}", node}})) / "results";
}

std::vector<std::string> OtherArchives::NodesByReach() const {
  const auto distance = [this](const std::string& node) {
    if (node == own_) return 0;
    std::error_code error;
    const fs::path results = ResultsOf(node);
    return !results.empty() && fs::is_directory(results, error) ? 1 : 2;
  };
  std::vector<std::pair<int, std::string>> ordered;
  for (const std::string& node : nodes_) ordered.emplace_back(distance(node), node);
  std::ranges::sort(ordered);
  std::vector<std::string> nodes;
  for (auto& [ignored, node] : ordered) nodes.push_back(std::move(node));
  return nodes;
}

absl::StatusOr<fs::path> OtherArchives::FileOf(const std::string& node,
                                               const std::string& directory,
                                               const std::string& file_name) const {
  if (!std::ranges::binary_search(nodes_, node)) {
    return absl::DataLossError("the shared index names a node that is none of the cluster's");
  }
  if (!IsName(directory) || !IsCleanPath(file_name)) {
    return absl::DataLossError(
        absl::StrCat("the shared index has a file of node ", node, " that no archive would have"));
  }
  const fs::path results = ResultsOf(node);
  return results.empty() ? fs::path() : results / directory / file_name;
}

absl::Status OtherArchives::Check(const std::string& node, const fs::path& file) const {
  const auto not_here = [&](absl::string_view why) {
    return absl::UnavailableError(absl::StrCat("node ", node, ": ", why));
  };
  std::error_code error;
  const fs::path results = ResultsOf(node);
  if (results.empty() || file.empty()) return not_here("its archive is not mounted here");
  const fs::path root = fs::canonical(results, error);
  if (error) return not_here("its archive is not mounted here");
  const fs::path directory = fs::canonical(file.parent_path(), error);
  if (error) return not_here("the file is not in its archive here");
  if (!IsBelow(directory, root)) return not_here("a link leads out of its archive");
  const fs::file_status status = fs::symlink_status(file, error);
  if (status.type() == fs::file_type::regular) return absl::OkStatus();
  return not_here("the file is not in its archive here");
}

}  // namespace isocenter::cluster_index
