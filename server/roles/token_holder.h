// Whose token it is.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/roles/role.h"

namespace isocenter::roles {

struct TokenHolder {
  Role role = Role::kViewer;
  std::string digest;  // of a listed token: its SHA-256, 64 lower-case hexadecimal digits
  std::string name;
  /// Of a token that an identity provider has signed: whom it was made for, by the provider's own
  /// unchanging name of him. Empty: a listed token.
  std::string subject;
  absl::Time expires = absl::InfiniteFuture();

  /// Tells holders apart, as names of people do not: "token NAME" or "openid SUBJECT".
  std::string identity() const {
    return subject.empty() ? absl::StrCat("token ", name) : absl::StrCat("openid ", subject);
  }
};

}  // namespace isocenter::roles
