#include "server/crypto/digests.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "absl/strings/escaping.h"

namespace isocenter::crypto {
namespace {

std::string Hex(const unsigned char* bytes, size_t count) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes), count));
}

}  // namespace

std::string RandomToken() {
  std::array<unsigned char, 32> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return "";
  return Hex(bytes.data(), bytes.size());
}

std::string Sha256Hex(absl::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
  return Hex(digest.data(), length);
}

std::array<uint8_t, 20> Sha1(absl::string_view text) {
  std::array<uint8_t, 20> digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha1(), nullptr);
  return digest;
}

std::string HmacHex(absl::string_view key, absl::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length);
  return Hex(digest.data(), length);
}

bool EqualInConstantTime(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace isocenter::crypto
