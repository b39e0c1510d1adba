#include "client/token_file.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

constexpr uint64_t kMostBytes = 9 << 10;  // a token of 8 KiB, and what may follow its line

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile("the token file", path, kMostBytes));
  const absl::string_view all = text;
  const absl::string_view token = absl::StripAsciiWhitespace(all.substr(0, all.find('\n')));
  if (token.empty() || !std::ranges::all_of(token, absl::ascii_isgraph)) {
    const bool is_text = std::ranges::any_of(token, absl::ascii_isspace);
    return absl::InvalidArgumentError(
        absl::StrCat("the first line of ", path, " is no token", is_text ? ": it has blanks" : "",
                     "; legal is one word of letters, digits and signs"));
  }
  return std::string(token);
}

}  // namespace

absl::StatusOr<std::shared_ptr<TokenFile>> TokenFile::Open(std::string path) {
  std::shared_ptr<TokenFile> file(new TokenFile(std::move(path)));
  absl::MutexLock lock(&file->mutex_);
  file->stamp_ = file->Look();
  ISO_ASSIGN_OR_RETURN(file->token_, ReadToken(file->path_));
  return file;
}

TokenFile::Stamp TokenFile::Look() const {
  struct stat about {};
  if (stat(path_.c_str(), &about) != 0) return {};
  return {about.st_ino, about.st_size,
          int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec};
}

std::string TokenFile::Token() {
  absl::MutexLock lock(&mutex_);
  const Stamp now = Look();
  if (now == stamp_) return token_;
  // Looked at before it is read: what is written meanwhile is found the next time.
  absl::StatusOr<std::string> token = ReadToken(path_);
  if (!token.ok()) return token_;  // it is being replaced, or will be
  stamp_ = now;
  token_ = *std::move(token);
  return token_;
}

}  // namespace isocenter::client
