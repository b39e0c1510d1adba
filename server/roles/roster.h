// Everybody who has a role, as the configuration names them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/roles/role.h"
#include "server/roles/token_book.h"

namespace isocenter::roles {

struct CertificateHolder {
  std::string subject;  // RFC 2253
  Role role = Role::kViewer;
};

/// Thread-safe.
class Roster {
 public:
  /// Nobody: whoever reaches the server may.
  Roster() = default;
  /// `tokens`: null: nobody has one.
  Roster(std::unique_ptr<TokenBook> tokens, std::vector<CertificateHolder> certificates)
      : tokens_(std::move(tokens)), certificates_(std::move(certificates)) {}

  /// Nobody is named.
  bool is_open() const { return tokens_ == nullptr && certificates_.empty(); }
  bool takes_tokens() const { return tokens_ != nullptr; }

  /// In a time that tells nothing of the tokens.
  std::optional<TokenHolder> FindToken(absl::string_view token) const;
  /// Whether a token that was found before is still there, with the same role.
  bool Has(const TokenHolder& holder) const;
  /// Whoever signed the certificate: that is what TLS has checked.
  std::optional<Role> FindCertificate(absl::string_view subject) const;

 private:
  const std::unique_ptr<TokenBook> tokens_;
  const std::vector<CertificateHolder> certificates_;
};

/// The token of an `Authorization` header or metadata, "Bearer TOKEN". Empty: of another scheme.
absl::string_view BearerToken(absl::string_view authorization);

}  // namespace isocenter::roles
