// Everybody who has a role, as the configuration names them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/roles/openid/verdict.h"
#include "server/roles/role.h"
#include "server/roles/token_book.h"

namespace isocenter::openid {
class SignOn;
}

namespace isocenter::roles {

struct CertificateHolder {
  std::string subject;  // RFC 2253
  Role role = Role::kViewer;
};

/// Why a token is not taken.
struct TokenRefusal {
  /// For whoever has shown it: always the same words, of which nobody learns what was wrong.
  /// UNAUTHENTICATED, PERMISSION_DENIED (the provider has signed it, and its holder has no role),
  /// UNAVAILABLE (the provider's keys are being fetched: it is worth to try again).
  absl::Status answer;
  /// For the audit trail: the answer, and what was wrong; and that as a word of a small fixed set.
  absl::Status record;
  std::string reason;
  /// Nobody who is known has made it.
  bool may_be_a_guess = true;
};

/// As a key of the event in the audit trail, where refusals for the same reason are counted.
std::string RefusalKey(const TokenRefusal& refusal);

/// Of a token: whose it is, or why it is not taken.
struct TokenCheck {
  std::optional<TokenHolder> holder;
  TokenRefusal refusal;  // without a holder
};

/// Thread-safe.
class Roster {
 public:
  /// Nobody: whoever reaches the server may.
  Roster();
  /// `tokens`: null: nobody has one that is listed. `sign_on`: null: no identity provider is asked.
  Roster(std::unique_ptr<TokenBook> tokens, std::vector<CertificateHolder> certificates);
  Roster(std::unique_ptr<TokenBook> tokens, std::vector<CertificateHolder> certificates,
         std::unique_ptr<openid::SignOn> sign_on);
  ~Roster();

  /// Told of each token that is refused, with the reason from a small fixed set; called from many
  /// threads. Before others use the roster.
  using OnRefused = std::function<void(absl::string_view reason)>;
  void Start(OnRefused on_refused);

  /// Nobody is named.
  bool is_open() const {
    return tokens_ == nullptr && certificates_.empty() && sign_on_ == nullptr;
  }
  /// Whether there are tokens that people can be given.
  bool takes_tokens() const { return tokens_ != nullptr; }
  /// Whether all that the file of tokens says counts, now; true without one.
  bool tokens_are_right() const { return tokens_ == nullptr || tokens_->is_right(); }
  /// Null: there is none.
  openid::SignOn* sign_on() const { return sign_on_.get(); }

  /// A listed token, in a time that tells nothing of the list; else one that the identity provider
  /// has signed.
  TokenCheck CheckToken(absl::string_view token, absl::Time now) const;
  /// What becomes of a token that the identity provider gave for a sign-in.
  TokenCheck Judge(openid::Verdict verdict) const;
  /// Whether a token that was found before is still good: listed, with the same role, or signed and
  /// not expired.
  bool Has(const TokenHolder& holder, absl::Time now) const;
  /// Whoever signed the certificate: that is what TLS has checked.
  std::optional<Role> FindCertificate(absl::string_view subject) const;

 private:
  const std::unique_ptr<TokenBook> tokens_;
  const std::vector<CertificateHolder> certificates_;
  const std::unique_ptr<openid::SignOn> sign_on_;
  OnRefused on_refused_;
};

/// The token of an `Authorization` header or metadata, "Bearer TOKEN". Empty: of another scheme.
absl::string_view BearerToken(absl::string_view authorization);

}  // namespace isocenter::roles
