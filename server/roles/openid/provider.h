// The identity provider as it describes itself (OpenID Connect Discovery 1.0), and what it is
// asked.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/roles/openid/key_set.h"
#include "server/roles/openid/web_client.h"

namespace isocenter::openid {

struct Endpoints {
  std::string authorization, token, keys;
  bool names_itself = false;  // its answers to browsers say who it is (RFC 9207)
  bool takes_basic = true;    // a client's secret by HTTP Basic; else in the form
};

struct ClientIdentity {
  std::string id;
  std::string secret;  // empty: a public client
};

/// An authorization code that a browser has brought.
struct CodeGrant {
  std::string code, redirect_uri, verifier;
};

/// Thread-safe.
class Provider {
 public:
  Provider(std::string issuer, Fetch fetch)
      : issuer_(std::move(issuer)), fetch_(std::move(fetch)) {}

  const std::string& issuer() const { return issuer_; }

  /// Errors: UNAVAILABLE (it does not answer), FAILED_PRECONDITION (what it says of itself cannot
  /// be used: another issuer, an endpoint without protection, no code flow with S256).
  absl::StatusOr<Endpoints> Discover() const;
  /// Errors: UNAVAILABLE, those of KeySet::Parse.
  absl::StatusOr<KeySet> FetchKeys(const Endpoints& endpoints) const;
  /// The ID token for a code. Errors: UNAVAILABLE, PERMISSION_DENIED (it does not take the code).
  absl::StatusOr<std::string> Redeem(const Endpoints& endpoints, const ClientIdentity& client,
                                     const CodeGrant& grant) const;

 private:
  absl::StatusOr<std::string> Get(const std::string& url) const;

  const std::string issuer_;
  const Fetch fetch_;
};

}  // namespace isocenter::openid
