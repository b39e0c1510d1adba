#include "server/crypto/signatures.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/crypto/owners.h"

namespace isocenter::crypto {
namespace {

constexpr size_t kCoordinateBytes = 32;
constexpr size_t kMostExponentBytes = 8;

using Number = std::unique_ptr<BIGNUM, Freer<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freer<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freer<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freer<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, Freer<ECDSA_SIG_free>>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

absl::string_view WithoutLeadingZeros(absl::string_view number) {
  return number.substr(std::min(number.find_first_not_of('\0'), number.size()));
}

Number NumberOf(absl::string_view text) {
  return Number(BN_bin2bn(Bytes(text), static_cast<int>(text.size()), nullptr));
}

/// Null: OpenSSL does not take it for a key.
std::shared_ptr<EVP_PKEY> KeyOf(const char* type, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  return {key, EVP_PKEY_free};
}

/// OpenSSL wants the two numbers as ASN.1; empty: memory is out.
std::string DerOf(absl::string_view signature) {
  const EcdsaSignature numbers(ECDSA_SIG_new());
  Number r = NumberOf(signature.substr(0, kCoordinateBytes));
  Number s = NumberOf(signature.substr(kCoordinateBytes));
  if (numbers == nullptr || r == nullptr || s == nullptr ||
      ECDSA_SIG_set0(numbers.get(), r.get(), s.get()) != 1) {
    return "";
  }
  (void)r.release();
  (void)s.release();
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(numbers.get(), &der);
  if (length <= 0) return "";
  std::string text(reinterpret_cast<const char*>(der), static_cast<size_t>(length));
  OPENSSL_free(der);
  return text;
}

}  // namespace

absl::StatusOr<PublicKey> PublicKey::Rsa(absl::string_view modulus, absl::string_view exponent) {
  modulus = WithoutLeadingZeros(modulus);
  exponent = WithoutLeadingZeros(exponent);
  if (modulus.size() > kMostRsaBits / 8 || exponent.empty() ||
      exponent.size() > kMostExponentBytes) {
    return absl::InvalidArgumentError(absl::StrCat("an RSA key has a modulus of ", modulus.size(),
                                                   " bytes and an exponent of ", exponent.size(),
                                                   "; legal are at most ", kMostRsaBits / 8,
                                                   ", and 1 to ", kMostExponentBytes));
  }
  const Number n = NumberOf(modulus), e = NumberOf(exponent);
  const Builder builder(OSSL_PARAM_BLD_new());
  if (n == nullptr || e == nullptr || builder == nullptr ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return absl::ResourceExhaustedError("there is no memory for an RSA key");
  }
  if (BN_num_bits(n.get()) < kLeastRsaBits || !BN_is_odd(n.get()) || !BN_is_odd(e.get()) ||
      BN_is_one(e.get())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an RSA key has a modulus of ", BN_num_bits(n.get()), " bits; legal are ", kLeastRsaBits,
        " to ", kMostRsaBits, ", and odd numbers with an exponent above 1"));
  }
  std::shared_ptr<EVP_PKEY> key = KeyOf("RSA", builder.get());
  if (key == nullptr) return absl::InvalidArgumentError("OpenSSL does not take an RSA key");
  return PublicKey(std::move(key), true);
}

absl::StatusOr<PublicKey> PublicKey::P256(absl::string_view x, absl::string_view y) {
  std::string point(1, '\4');  // not compressed
  for (absl::string_view coordinate : {x, y}) {
    coordinate = WithoutLeadingZeros(coordinate);
    if (coordinate.size() > kCoordinateBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a coordinate of a P-256 key has ", coordinate.size(),
                       " bytes; legal are at most ", kCoordinateBytes));
    }
    absl::StrAppend(&point, std::string(kCoordinateBytes - coordinate.size(), '\0'), coordinate);
  }
  const Builder builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return absl::ResourceExhaustedError("there is no memory for a P-256 key");
  }
  std::shared_ptr<EVP_PKEY> key = KeyOf("EC", builder.get());
  const KeyContext context(key == nullptr ? nullptr : EVP_PKEY_CTX_new(key.get(), nullptr));
  if (context == nullptr || EVP_PKEY_public_check(context.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the point of a P-256 key is not on the curve");
  }
  return PublicKey(std::move(key), false);
}

bool PublicKey::Vouches(SignatureAlgorithm algorithm, absl::string_view text,
                        absl::string_view signature) const {
  if (!Fits(algorithm)) return false;
  std::string der;
  if (algorithm == SignatureAlgorithm::kEs256) {
    if (signature.size() != 2 * kCoordinateBytes) return false;
    der = DerOf(signature);
    signature = der;
  }
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* settings = nullptr;  // the context's
  bool vouches = context != nullptr && EVP_DigestVerifyInit(context.get(), &settings, EVP_sha256(),
                                                            nullptr, key_.get()) == 1;
  if (algorithm == SignatureAlgorithm::kPs256) {
    vouches = vouches && EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING) == 1 &&
              EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  vouches = vouches && EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                                        Bytes(text), text.size()) == 1;
  ERR_clear_error();
  return vouches;
}

}  // namespace isocenter::crypto
