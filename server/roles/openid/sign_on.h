// Signing on by an identity provider: tokens that it has signed, and people whom it sends.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/roles/openid/key_watch.h"
#include "server/roles/openid/provider.h"
#include "server/roles/openid/verification.h"
#include "server/roles/openid/web_client.h"

namespace isocenter::openid {

struct SignOnSettings {
  ClaimRules rules;
  std::string audience;  // of tokens that programs show
  ClientIdentity client;
  /// Where the provider sends browsers back to; empty: it is not asked to sign people in.
  std::string redirect_uri;
  std::vector<std::string> scopes;
  std::string title;  // of the provider, for people
  KeyWatch::Times times;
};

/// What ties a sign-in to the browser that began it. Made anew for each.
struct FlowSecrets {
  std::string state, nonce;
  std::string verifier;  // of PKCE, RFC 7636
};

/// Thread-safe.
class SignOn {
 public:
  SignOn(SignOnSettings settings, Fetch fetch);

  /// Begins to fetch the provider's keys. Without it no token is good.
  void Start() { watch_.Start(); }

  /// Of a token that a program shows.
  Verdict Check(absl::string_view token, absl::Time now);

  /// Whether people can sign in on the page.
  bool has_page() const { return !settings_.redirect_uri.empty(); }
  const std::string& title() const { return settings_.title; }
  const std::string& issuer() const { return settings_.rules.issuer; }

  /// Where a browser is sent to. Errors: UNAVAILABLE (the provider has not answered yet).
  absl::StatusOr<std::string> AuthorizationUrl(const FlowSecrets& secrets) const;
  /// Whether the provider's answers to browsers always say who it is.
  bool names_itself() const;
  /// Asks the provider who has come back with a code; blocks for a few seconds at most. Errors:
  /// UNAVAILABLE, PERMISSION_DENIED (it does not take the code).
  absl::StatusOr<Verdict> Redeem(const std::string& code, const FlowSecrets& secrets,
                                 absl::Time now);

  /// When the provider's keys were fetched last, or InfinitePast.
  absl::Time keys_fetched_at() const { return watch_.fetched_at(); }

 private:
  Verdict CheckAgainstKeys(absl::string_view token, const Purpose& purpose, absl::Time now);

  const SignOnSettings settings_;
  const Provider provider_;
  KeyWatch watch_;
};

}  // namespace isocenter::openid
