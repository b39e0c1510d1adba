#include "server/stow/bearer_token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/certificates.h"

namespace isocenter::stow {
namespace {

constexpr uint64_t kMostBytes = 16 << 10;
constexpr absl::string_view kMarks = "-._~+/=";

}  // namespace

absl::StatusOr<std::string> ReadBearerToken(absl::string_view field, const std::string& file) {
  ISO_ASSIGN_OR_RETURN(std::string token, crypto::ReadSecretLine(field, file, kMostBytes));
  const bool legal = !token.empty() && std::ranges::all_of(token, [](unsigned char c) {
    return absl::ascii_isalnum(c) || absl::StrContains(kMarks, static_cast<char>(c));
  });
  if (legal) return token;
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", file,
                   ", whose first line is no token; legal is one of letters, digits and ", kMarks));
}

}  // namespace isocenter::stow
