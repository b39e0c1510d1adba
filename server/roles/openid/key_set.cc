#include "server/roles/openid/key_set.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/roles/openid/encoding.h"

namespace isocenter::openid {
namespace {

using crypto::PublicKey;
using crypto::SignatureAlgorithm;

absl::StatusOr<std::string> NumberOf(const Json& entry, const char* name) {
  const std::optional<std::string> text = TextOf(entry, name);
  std::optional<std::string> bytes;
  if (text) bytes = DecodeBase64Url(*text);
  if (!bytes || bytes->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key's '", name, "' is no number in base64url"));
  }
  return *std::move(bytes);
}

absl::StatusOr<PublicKey> PublicKeyOf(const Json& entry, const std::string& kind) {
  if (kind == "RSA") {
    ISO_ASSIGN_OR_RETURN(const std::string modulus, NumberOf(entry, "n"));
    ISO_ASSIGN_OR_RETURN(const std::string exponent, NumberOf(entry, "e"));
    return PublicKey::Rsa(modulus, exponent);
  }
  ISO_ASSIGN_OR_RETURN(const std::string x, NumberOf(entry, "x"));
  ISO_ASSIGN_OR_RETURN(const std::string y, NumberOf(entry, "y"));
  return PublicKey::P256(x, y);
}

/// Empty: not for signatures of ours.
absl::StatusOr<std::optional<Key>> KeyOf(const Json& entry) {
  if (!entry.is_object()) return absl::InvalidArgumentError("a key is no object");
  const std::string kind = TextOf(entry, "kty").value_or("");
  const bool is_ours =
      kind == "RSA" || (kind == "EC" && TextOf(entry, "crv").value_or("") == "P-256");
  if (!is_ours || TextOf(entry, "use").value_or("sig") != "sig") return std::nullopt;
  std::optional<SignatureAlgorithm> algorithm;
  if (entry.contains("alg")) {
    algorithm = AlgorithmOf(TextOf(entry, "alg").value_or(""));
    if (!algorithm) return std::nullopt;
  }
  ISO_ASSIGN_OR_RETURN(PublicKey key, PublicKeyOf(entry, kind));
  if (algorithm && !key.Fits(*algorithm)) {
    return absl::InvalidArgumentError("a key's 'alg' is not of its 'kty'");
  }
  return Key{TextOf(entry, "kid").value_or(""), algorithm, std::move(key)};
}

}  // namespace

std::optional<SignatureAlgorithm> AlgorithmOf(absl::string_view name) {
  if (name == "RS256") return SignatureAlgorithm::kRs256;
  if (name == "PS256") return SignatureAlgorithm::kPs256;
  if (name == "ES256") return SignatureAlgorithm::kEs256;
  return std::nullopt;
}

absl::StatusOr<KeySet> KeySet::Parse(absl::string_view text) {
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key set has ", text.size(), " bytes; legal are at most ", kMostBytes));
  }
  const std::optional<Json> set = ParseObject(text);
  if (!set || !set->contains("keys") || !set->at("keys").is_array()) {
    return absl::InvalidArgumentError("it is no JSON Web Key Set");
  }
  const Json& entries = set->at("keys");
  if (entries.size() > kMostKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key set has ", entries.size(), " keys; legal are at most ", kMostKeys));
  }
  std::vector<Key> keys;
  for (const Json& entry : entries) {
    ISO_ASSIGN_OR_RETURN(std::optional<Key> key, KeyOf(entry));
    if (key) keys.push_back(*std::move(key));
  }
  if (keys.empty()) {
    return absl::InvalidArgumentError(
        "the key set has no key for RS256, PS256 or ES256; other algorithms are not taken");
  }
  return KeySet(std::move(keys));
}

std::vector<const Key*> KeySet::Find(absl::string_view id, SignatureAlgorithm algorithm) const {
  std::vector<const Key*> found;
  if (id.empty() && keys_.size() != 1) return found;
  for (const Key& key : keys_) {
    const bool is_named = id.empty() || key.id == id;
    if (is_named && key.key.Fits(algorithm) && key.algorithm.value_or(algorithm) == algorithm) {
      found.push_back(&key);
    }
  }
  return found;
}

bool KeySet::Has(absl::string_view id) const {
  if (id.empty()) return !keys_.empty();
  return std::ranges::any_of(keys_, [id](const Key& key) { return key.id == id; });
}

}  // namespace isocenter::openid
