// Public keys, and the signatures that they vouch for.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;

namespace isocenter::crypto {

/// As RFC 7518, section 3 names them: RSA with PKCS #1 v1.5, RSA with PSS, ECDSA on P-256; all over
/// SHA-256.
enum class SignatureAlgorithm { kRs256, kPs256, kEs256 };

/// Immutable; copies share the key. Thread-safe.
class PublicKey {
 public:
  static constexpr int kLeastRsaBits = 2048, kMostRsaBits = 8192;

  /// Both numbers in big-endian order. Errors: INVALID_ARGUMENT (a modulus of another length, an
  /// exponent that is none).
  static absl::StatusOr<PublicKey> Rsa(absl::string_view modulus, absl::string_view exponent);
  /// The coordinates of a point of P-256, in big-endian order. Errors: INVALID_ARGUMENT (it is not
  /// on the curve).
  static absl::StatusOr<PublicKey> P256(absl::string_view x, absl::string_view y);

  /// Whether keys of this kind are used so. A key never vouches by an algorithm of another kind.
  bool Fits(SignatureAlgorithm algorithm) const {
    return is_rsa_ == (algorithm != SignatureAlgorithm::kEs256);
  }
  /// `signature` has the form of RFC 7518: of ECDSA the two numbers, 32 bytes each.
  bool Vouches(SignatureAlgorithm algorithm, absl::string_view text,
               absl::string_view signature) const;

 private:
  PublicKey(std::shared_ptr<evp_pkey_st> key, bool is_rsa)
      : key_(std::move(key)), is_rsa_(is_rsa) {}

  std::shared_ptr<evp_pkey_st> key_;
  bool is_rsa_;
};

}  // namespace isocenter::crypto
