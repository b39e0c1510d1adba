// The keys that an identity provider signs with, as it publishes them (JSON Web Key Set, RFC 7517).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/crypto/signatures.h"

namespace isocenter::openid {

/// "RS256", "PS256", "ES256". Empty: another, which nothing here takes: not "none", and nothing
/// that is made with a shared secret.
std::optional<crypto::SignatureAlgorithm> AlgorithmOf(absl::string_view name);

struct Key {
  std::string id;  // empty: it has none
  /// The only one that the key is for; empty: all that fit its kind.
  std::optional<crypto::SignatureAlgorithm> algorithm;
  crypto::PublicKey key;
};

/// Immutable.
class KeySet {
 public:
  static constexpr size_t kMostBytes = 256 << 10;
  static constexpr size_t kMostKeys = 64;

  KeySet() = default;

  /// Keys of other kinds, uses and algorithms are passed over. Errors: INVALID_ARGUMENT (too long,
  /// not a key set, too many keys, a broken key, or none that can be used).
  static absl::StatusOr<KeySet> Parse(absl::string_view text);

  /// Those of that name which are for the algorithm. Without a name: the only one of the set.
  std::vector<const Key*> Find(absl::string_view id, crypto::SignatureAlgorithm algorithm) const;
  /// Whether there is a key of that name, for whatever algorithm; without a name: any key.
  bool Has(absl::string_view id) const;
  size_t size() const { return keys_.size(); }

 private:
  explicit KeySet(std::vector<Key> keys) : keys_(std::move(keys)) {}

  std::vector<Key> keys_;
};

}  // namespace isocenter::openid
