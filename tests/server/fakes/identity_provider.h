// An identity provider without a network: what it answers, and to what.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/roles/openid/sign_on.h"
#include "server/roles/roster.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/token_signer.h"

namespace isocenter::testing {

inline constexpr char kIssuer[] = "https://id.hospital.example/realm";
inline constexpr char kClient[] = "isocenter";
inline constexpr char kSecret[] = "the secret: of/isocenter";

/// Thread-safe. What asks it may outlive it.
class IdentityProvider {
 public:
  using Json = nlohmann::json;

  /// Claims of a person of a group, now.
  static Json Claims(const std::string& name, const std::string& group) {
    const int64_t now = absl::ToUnixSeconds(absl::Now());
    return {{"iss", kIssuer},   {"aud", kClient},    {"sub", "id-of-" + name},
            {"iat", now},       {"exp", now + 3600}, {"preferred_username", name},
            {"groups", {group}}};
  }
  /// Groups "viewers", "consoles", "operators", "administrators" have the role of their name.
  static openid::SignOnSettings Settings() {
    return {.rules = {.issuer = kIssuer,
                      .groups_claim = "groups",
                      .name_claim = "preferred_username",
                      .roles = {{"viewers", roles::Role::kViewer},
                                {"consoles", roles::Role::kConsole},
                                {"operators", roles::Role::kOperator},
                                {"administrators", roles::Role::kAdministrator}},
                      .leeway = absl::Seconds(30)},
            .audience = kClient,
            .client = {.id = kClient, .secret = kSecret},
            .redirect_uri = "https://ct.hospital.example/api/v1/session/callback",
            .scopes = {"openid", "profile"},
            .title = "Hospital",
            .times = {.usual = absl::Minutes(5), .least = absl::Milliseconds(200)}};
  }

  std::unique_ptr<openid::SignOn> SignOn() const {
    return std::make_unique<openid::SignOn>(
        Settings(),
        [state = state_](const openid::WebRequest& request) { return state->Answer(request); });
  }
  /// A roster that knows nobody else, with the provider's keys.
  std::unique_ptr<roles::Roster> Roster() const {
    auto roster =
        std::make_unique<roles::Roster>(nullptr, std::vector<roles::CertificateHolder>(), SignOn());
    roster->Start([state = state_](absl::string_view reason) {
      absl::MutexLock lock(&state->mutex);
      state->refused.emplace_back(reason);
    });
    EXPECT_TRUE(
        Eventually([&] { return roster->sign_on()->keys_fetched_at() != absl::InfinitePast(); }));
    return roster;
  }

  std::string Token(const std::string& name, const std::string& group) const {
    return Sign(Claims(name, group));
  }
  std::string Sign(const Json& claims) const {
    absl::MutexLock lock(&state_->mutex);
    return state_->key.Sign(claims);
  }
  /// Signs with another key from now on, and publishes that alone.
  void Rotate(const TokenSigner& key) {
    absl::MutexLock lock(&state_->mutex);
    state_->key = key;
  }
  void SetReachable(bool reachable) {
    absl::MutexLock lock(&state_->mutex);
    state_->is_reachable = reachable;
  }
  /// What it says of itself, beside addresses.
  void Describe(const std::string& name, const Json& value) {
    absl::MutexLock lock(&state_->mutex);
    state_->described[name] = value;
  }
  /// Somebody has signed in: the code is good for one answer with this ID token.
  void Grant(const std::string& code, const std::string& id_token) {
    absl::MutexLock lock(&state_->mutex);
    state_->codes[code] = id_token;
  }
  int key_requests() const {
    absl::MutexLock lock(&state_->mutex);
    return state_->key_requests;
  }
  std::vector<openid::WebRequest> code_requests() const {
    absl::MutexLock lock(&state_->mutex);
    return state_->code_requests;
  }
  /// Reasons of all refusals.
  std::vector<std::string> refused() const {
    absl::MutexLock lock(&state_->mutex);
    return state_->refused;
  }

 private:
  struct State {
    absl::StatusOr<openid::WebAnswer> Answer(const openid::WebRequest& request) {
      absl::MutexLock lock(&mutex);
      if (!is_reachable) return absl::UnavailableError("no route to host");
      const std::string base = kIssuer;
      if (request.url == base + "/.well-known/openid-configuration") {
        Json about = {{"issuer", kIssuer},
                      {"authorization_endpoint", base + "/auth"},
                      {"token_endpoint", base + "/token"},
                      {"jwks_uri", base + "/keys"}};
        about.update(described);
        return openid::WebAnswer{200, about.dump()};
      }
      if (request.url == base + "/keys") {
        ++key_requests;
        return openid::WebAnswer{200, Json{{"keys", Json::array({key.Published()})}}.dump()};
      }
      if (request.url != base + "/token") return openid::WebAnswer{404, ""};
      code_requests.push_back(request);
      for (const auto& [code, token] : codes) {
        if (request.form.find("code=" + code + "&") == std::string::npos) continue;
        const std::string body = Json{{"id_token", token}, {"token_type", "bearer"}}.dump();
        codes.erase(code);
        return openid::WebAnswer{200, body};
      }
      return openid::WebAnswer{400, R"({"error": "invalid_grant"})"};
    }

    absl::Mutex mutex;
    TokenSigner key = TokenSigner::Rsa("key-1");
    bool is_reachable = true;
    Json described = Json::object();
    std::map<std::string, std::string> codes;
    int key_requests = 0;
    std::vector<openid::WebRequest> code_requests;
    std::vector<std::string> refused;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace isocenter::testing
