#include "server/roles/roster.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace isocenter::roles {

std::optional<TokenHolder> Roster::FindToken(absl::string_view token) const {
  if (tokens_ == nullptr) return std::nullopt;
  return tokens_->Find(token);
}

bool Roster::Has(const TokenHolder& holder) const {
  return tokens_ != nullptr && tokens_->Has(holder);
}

std::optional<Role> Roster::FindCertificate(absl::string_view subject) const {
  for (const CertificateHolder& holder : certificates_) {
    if (holder.subject == subject) return holder.role;
  }
  return std::nullopt;
}

absl::string_view BearerToken(absl::string_view authorization) {
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) return {};
  return absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
}

}  // namespace isocenter::roles
