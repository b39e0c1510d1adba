#include "server/roles/token_book.h"

#include <sys/stat.h>

#include <algorithm>

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

absl::StatusOr<std::vector<TokenHolder>> ParseTokens(absl::string_view text,
                                                     absl::string_view file_name) {
  std::vector<TokenHolder> holders;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    ISO_ASSIGN_OR_RETURN(TokenHolder holder, ParseLine(line, absl::StrCat(file_name, ":", number)));
    holders.push_back(std::move(holder));
  }
  return holders;
}

absl::StatusOr<std::unique_ptr<TokenBook>> TokenBook::Open(std::string path) {
  std::unique_ptr<TokenBook> book(new TokenBook(std::move(path)));
  absl::MutexLock lock(&book->mutex_);
  ISO_RETURN_IF_ERROR(book->Read());
  return book;
}

absl::Status TokenBook::Read() {
  constexpr uint64_t kMostBytes = 16 << 20;
  struct stat about {};
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       ReadRegularFile("web.tokens_file", path_, kMostBytes));
  if (stat(path_.c_str(), &about) != 0) {
    return absl::NotFoundError(
        absl::StrCat("web.tokens_file is ", path_, ", which cannot be read"));
  }
  ISO_RETURN_IF_ERROR(crypto::CheckSecrecy("web.tokens_file", path_));
  stamp_ = {about.st_ino, about.st_size,
            int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec};
  ISO_ASSIGN_OR_RETURN(holders_, ParseTokens(text, path_));
  return absl::OkStatus();
}

void TokenBook::ReadIfChanged() {
  struct stat about {};
  if (stat(path_.c_str(), &about) != 0) return;
  const Stamp now{about.st_ino, about.st_size,
                  int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec};
  if (now == stamp_) return;
  const absl::Status read = Read();
  if (read.ok()) {
    spdlog::info("event=tokens_read holders={}", holders_.size());
  } else {
    stamp_ = now;  // said once
    spdlog::error("event=tokens_not_read error=\"{}\"", read.ToString());
  }
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
