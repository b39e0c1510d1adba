// Whether a token is one of the identity provider, for us, now; and what its holder may.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/roles/openid/key_set.h"
#include "server/roles/openid/signed_token.h"
#include "server/roles/openid/verdict.h"
#include "server/roles/role.h"

namespace isocenter::openid {

struct GroupRole {
  std::string group;
  roles::Role role = roles::Role::kViewer;
};

/// How a token's claims say who its holder is and what he may.
struct ClaimRules {
  std::string issuer;        // exactly
  std::string groups_claim;  // names of nested claims with dots between them
  std::string name_claim;
  std::vector<GroupRole> roles;  // of several that apply, the one that may most
  absl::Duration leeway;         // by which the provider's clock may differ from ours
};

/// For what a token must have been made.
struct Purpose {
  std::string audience;
  /// Of a sign-in that began here; empty: a token that a program shows.
  std::string nonce;
};

/// Nothing of a token's claims is looked at before its signature has been found to be good.
Verdict Verify(const SignedToken& token, const KeySet& keys, const ClaimRules& rules,
               const Purpose& purpose, absl::Time now);

/// The rest of it: what the claims of a token say whose signature is good.
Verdict JudgeClaims(const Json& claims, const ClaimRules& rules, const Purpose& purpose,
                    absl::Time now);

}  // namespace isocenter::openid
