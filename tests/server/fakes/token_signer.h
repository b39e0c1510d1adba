// Signs tokens as an identity provider does, and as those do who would like to be one. Shares no
// code with what reads them.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace isocenter::testing {

/// With a private key of its own.
class TokenSigner {
 public:
  using Json = nlohmann::json;

  static TokenSigner Rsa(const std::string& id, unsigned bits = 2048) {
    return {id, EVP_RSA_gen(bits), "RS256"};
  }
  static TokenSigner P256(const std::string& id) { return {id, EVP_EC_gen("P-256"), "ES256"}; }

  /// The public key, as a provider publishes it.
  Json Published() const {
    if (algorithm_ == "RS256") {
      return {{"kty", "RSA"}, {"kid", id_}, {"n", Number("n")}, {"e", Number("e")}};
    }
    return {{"kty", "EC"},
            {"crv", "P-256"},
            {"kid", id_},
            {"x", Number("qx", 32)},
            {"y", Number("qy", 32)}};
  }
  Json Header() const { return {{"alg", algorithm_}, {"kid", id_}, {"typ", "JWT"}}; }

  std::string Sign(const Json& claims) const { return Sign(Header(), claims.dump()); }
  /// By the header's algorithm. Without one of these: no signature.
  std::string Sign(const Json& header, const std::string& claims) const {
    const std::string text = absl::StrCat(Encode(header.dump()), ".", Encode(claims));
    return absl::StrCat(text, ".", Encode(SignatureOf(header.value("alg", ""), text)));
  }

  static std::string Encode(const std::string& bytes) { return absl::WebSafeBase64Escape(bytes); }

 private:
  TokenSigner(std::string id, EVP_PKEY* key, std::string algorithm)
      : id_(std::move(id)), key_(key, EVP_PKEY_free), algorithm_(std::move(algorithm)) {}

  /// A number of the public key in base64url, in at least so many bytes.
  std::string Number(const char* name, int least_bytes = 1) const {
    BIGNUM* number = nullptr;
    EXPECT_EQ(EVP_PKEY_get_bn_param(key_.get(), name, &number), 1) << name;
    std::string bytes(std::max(BN_num_bytes(number), least_bytes), '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
                 static_cast<int>(bytes.size()));
    BN_free(number);
    return Encode(bytes);
  }

  std::string SignatureOf(const std::string& algorithm, const std::string& text) const {
    if (algorithm == "HS256") return WithSharedSecret(text);
    if (algorithm != "RS256" && algorithm != "PS256" && algorithm != "ES256") return "";
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    EVP_PKEY_CTX* settings = nullptr;
    EVP_DigestSignInit(context, &settings, EVP_sha256(), nullptr, key_.get());
    if (algorithm == "PS256") {
      EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, RSA_PSS_SALTLEN_DIGEST);
    }
    std::string signature(1024, '\0');
    size_t length = signature.size();
    EXPECT_EQ(EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &length,
                             reinterpret_cast<const unsigned char*>(text.data()), text.size()),
              1);
    EVP_MD_CTX_free(context);
    signature.resize(length);
    return algorithm == "ES256" ? WithoutAsn1(signature) : signature;
  }

  static std::string WithoutAsn1(const std::string& der) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* const numbers = d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size()));
    std::string signature(64, '\0');
    auto* const out = reinterpret_cast<unsigned char*>(signature.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(numbers), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(numbers), out + 32, 32);
    ECDSA_SIG_free(numbers);
    return signature;
  }

  /// The old trick: the public key, which everybody has, as the secret.
  std::string WithSharedSecret(const std::string& text) const {
    BIO* const memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(memory, key_.get());
    char* secret = nullptr;
    const long secret_bytes = BIO_get_mem_data(memory, &secret);
    std::string signature(32, '\0');
    HMAC(EVP_sha256(), secret, static_cast<int>(secret_bytes),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(signature.data()), nullptr);
    BIO_free(memory);
    return signature;
  }

  std::string id_;
  std::shared_ptr<EVP_PKEY> key_;
  std::string algorithm_;
};

}  // namespace isocenter::testing
