#include "server/roles/token_book.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/crypto/certificates.h"
#include "server/crypto/digests.h"

namespace isocenter::roles {
namespace {

constexpr size_t kDigestDigits = 64;
constexpr size_t kLongestName = 64;

std::optional<Role> RoleOf(absl::string_view name) {
  for (const Role role : kAllRoles) {
    if (name == Name(role)) return role;
  }
  return std::nullopt;
}

absl::StatusOr<TokenHolder> ParseLine(absl::string_view line, absl::string_view where) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(absl::ByAnyChar(" \t"), 2));
  const auto illegal = [&](absl::string_view what) {
    // Not the line itself: somebody may have put a token there.
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": ", what,
        "; legal is a line of role (viewer, console, operator, administrator), SHA-256 "
        "of the token in 64 hexadecimal digits, and a name of at most ",
        kLongestName, " characters"));
  };
  if (parts.size() != 3) return illegal("not three parts");
  const std::optional<Role> role = RoleOf(parts[0]);
  if (!role) return illegal(absl::StrCat("the role is '", parts[0], "'"));
  if (parts[1].size() != kDigestDigits || !std::ranges::all_of(parts[1], absl::ascii_isxdigit)) {
    return illegal("the second part is not a SHA-256");
  }
  const absl::string_view name = absl::StripAsciiWhitespace(parts[2]);
  if (name.empty() || name.size() > kLongestName ||
      std::ranges::any_of(name, absl::ascii_iscntrl)) {
    return illegal(absl::StrCat("the name has ", name.size(), " characters"));
  }
  return TokenHolder{
      .role = *role, .digest = absl::AsciiStrToLower(parts[1]), .name = std::string(name)};
}

}  // namespace

ParsedTokens ParseTokens(absl::string_view text, absl::string_view file_name) {
  ParsedTokens parsed;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    absl::StatusOr<TokenHolder> holder = ParseLine(line, absl::StrCat(file_name, ":", number));
    if (holder.ok()) {
      parsed.holders.push_back(*std::move(holder));
    } else {
      parsed.wrong.push_back(holder.status());
    }
  }
  return parsed;
}

absl::StatusOr<std::unique_ptr<TokenBook>> TokenBook::Open(std::string path) {
  std::unique_ptr<TokenBook> book(new TokenBook(std::move(path)));
  absl::MutexLock lock(&book->mutex_);
  // Before it is read: what changes meanwhile is read again.
  book->stamp_ = StampOf(book->path_).value_or(Stamp());
  ISO_ASSIGN_OR_RETURN(ParsedTokens read, book->Read());
  if (!read.wrong.empty()) return read.wrong.front();
  book->holders_ = std::move(read.holders);
  return book;
}

absl::StatusOr<ParsedTokens> TokenBook::Read() const {
  constexpr uint64_t kMostBytes = 16 << 20;
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       ReadRegularFile("web.tokens_file", path_, kMostBytes));
  ISO_RETURN_IF_ERROR(crypto::CheckSecrecy("web.tokens_file", path_));
  return ParseTokens(text, path_);
}

absl::StatusOr<TokenBook::Stamp> TokenBook::StampOf(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return absl::ErrnoToStatus(errno, path);
  const auto nanoseconds = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return Stamp{about.st_ino, about.st_size, nanoseconds(about.st_mtim), nanoseconds(about.st_ctim)};
}

void TokenBook::ReadIfChanged() {
  const absl::StatusOr<Stamp> now = StampOf(path_);
  if (now.value_or(Stamp()) == stamp_) return;
  stamp_ = now.value_or(Stamp());  // what is wrong with it is said once
  is_right_ = false;
  if (absl::IsNotFound(now.status())) {
    holders_.clear();
    spdlog::error("event=tokens_file_missing file=\"{}\" holders=0", path_);
    return;
  }
  absl::StatusOr<ParsedTokens> read = Read();
  if (!read.ok()) {
    spdlog::error(
        "event=tokens_not_read holders={} todo=\"nothing that was changed in it counts\" "
        "error=\"{}\"",
        holders_.size(), read.status().ToString());
    return;
  }
  holders_ = std::move(read->holders);
  is_right_ = read->wrong.empty();
  if (is_right_) {
    spdlog::info("event=tokens_read holders={}", holders_.size());
  } else {
    spdlog::error("event=tokens_lines_wrong lines={} holders={} first=\"{}\"", read->wrong.size(),
                  holders_.size(), read->wrong.front().ToString());
  }
}

bool TokenBook::is_right() {
  absl::MutexLock lock(&mutex_);
  ReadIfChanged();
  return is_right_;
}

std::optional<TokenHolder> TokenBook::Find(absl::string_view token) {
  const std::string digest = crypto::Sha256Hex(token);
  std::optional<TokenHolder> found;
  absl::MutexLock lock(&mutex_);
  ReadIfChanged();
  for (const TokenHolder& holder : holders_) {
    if (crypto::EqualInConstantTime(holder.digest, digest)) found = holder;
  }
  return found;
}

bool TokenBook::Has(const TokenHolder& holder) {
  absl::MutexLock lock(&mutex_);
  ReadIfChanged();
  return std::ranges::any_of(holders_, [&](const TokenHolder& other) {
    return other.role == holder.role && crypto::EqualInConstantTime(other.digest, holder.digest);
  });
}

}  // namespace isocenter::roles
