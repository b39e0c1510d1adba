#include "server/roles/roster.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/roles/openid/sign_on.h"
#include "server/roles/openid/signed_token.h"

namespace isocenter::roles {
namespace {

using openid::Refusal;

absl::Status AnswerTo(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoKeys:
      return absl::UnavailableError("the identity provider is being asked; try again in a second");
    case Refusal::kNoRole:
      return absl::PermissionDeniedError("this token gives no role here");
    default:
      return absl::UnauthenticatedError("this token is not known");
  }
}

}  // namespace

std::string RefusalKey(const TokenRefusal& refusal) {
  return absl::StrCat("refusal=", refusal.reason);
}

Roster::Roster() = default;
Roster::~Roster() = default;

Roster::Roster(std::unique_ptr<TokenBook> tokens, std::vector<CertificateHolder> certificates)
    : Roster(std::move(tokens), std::move(certificates), nullptr) {}

Roster::Roster(std::unique_ptr<TokenBook> tokens, std::vector<CertificateHolder> certificates,
               std::unique_ptr<openid::SignOn> sign_on)
    : tokens_(std::move(tokens)),
      certificates_(std::move(certificates)),
      sign_on_(std::move(sign_on)) {}

void Roster::Start(OnRefused on_refused) {
  on_refused_ = std::move(on_refused);
  if (sign_on_ != nullptr) sign_on_->Start();
}

TokenCheck Roster::CheckToken(absl::string_view token, absl::Time now) const {
  if (tokens_ != nullptr) {
    if (std::optional<TokenHolder> listed = tokens_->Find(token)) {
      return {.holder = *std::move(listed)};
    }
  }
  if (sign_on_ == nullptr || !openid::HasFormOfSignedToken(token)) {
    return Judge(openid::Refuse(Refusal::kUnknownToken, "it is not listed"));
  }
  return Judge(sign_on_->Check(token, now));
}

TokenCheck Roster::Judge(openid::Verdict verdict) const {
  if (verdict.holder) return {.holder = *std::move(verdict.holder)};
  if (on_refused_ != nullptr) on_refused_(Name(verdict.refusal));
  TokenCheck check;
  check.refusal.reason = std::string(Name(verdict.refusal));
  check.refusal.answer = AnswerTo(verdict.refusal);
  check.refusal.record = absl::Status(check.refusal.answer.code(),
                                      absl::StrCat(check.refusal.answer.message(), " (",
                                                   Name(verdict.refusal), ": ", verdict.why, ")"));
  check.refusal.may_be_a_guess = !verdict.is_genuine && verdict.refusal != Refusal::kNoKeys;
  return check;
}

bool Roster::Has(const TokenHolder& holder, absl::Time now) const {
  if (now >= holder.expires) return false;
  if (!holder.subject.empty()) return sign_on_ != nullptr;
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
