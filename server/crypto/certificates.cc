#include "server/crypto/certificates.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/owners.h"

namespace isocenter::crypto {
namespace {

absl::StatusOr<std::string> ReadFile(absl::string_view field, const std::string& path) {
  return ReadRegularFile(field, path, kMostPemBytes);
}

absl::Time TimeOf(const ASN1_TIME* asn1) {
  tm fields = {};
  if (ASN1_TIME_to_tm(asn1, &fields) != 1) return absl::InfinitePast();
  return absl::FromTimeT(timegm(&fields));
}

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string TextOf(const X509_NAME* name, unsigned long flags) {
  const Bio text(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(text.get(), name, 0, flags);
  char* data = nullptr;
  const long length = BIO_get_mem_data(text.get(), &data);
  return std::string(data, static_cast<size_t>(std::max(0L, length)));
}

/// Never asks a terminal: a key that needs a password is one that cannot be read.
int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace

std::string Written(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

std::string SubjectOf(const X509& certificate, unsigned long flags) {
  return TextOf(X509_get_subject_name(&certificate), flags);
}

Certificate Describe(X509& certificate) {
  Certificate described;
  constexpr unsigned long kReadable = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
  described.subject = SubjectOf(certificate, kReadable);
  described.is_authority = X509_check_ca(&certificate) != 0;
  described.issuer = TextOf(X509_get_issuer_name(&certificate), kReadable);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int digest_length = 0;
  X509_digest(&certificate, EVP_sha256(), digest, &digest_length);
  described.sha256 = absl::BytesToHexString({reinterpret_cast<const char*>(digest), digest_length});
  described.not_before = TimeOf(X509_get0_notBefore(&certificate));
  described.not_after = TimeOf(X509_get0_notAfter(&certificate));
  return described;
}

absl::StatusOr<std::vector<Certificate>> ReadCertificates(absl::string_view field,
                                                          const std::string& file) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadFile(field, file));
  const Bio reader = Reader(text);
  std::vector<Certificate> certificates;
  ERR_clear_error();
  while (X509Owner certificate{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(Describe(*certificate));
  }
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (certificates.empty() || !ended) {
    return absl::InvalidArgumentError(absl::StrCat(
        field, " is ", file, certificates.empty() ? ", which holds no" : ", which holds a broken",
        " certificate; legal is a PEM file with BEGIN CERTIFICATE"));
  }
  return certificates;
}

absl::StatusOr<std::vector<Certificate>> ReadValidCertificates(absl::string_view field,
                                                               const std::string& file) {
  ISO_ASSIGN_OR_RETURN(std::vector<Certificate> certificates, ReadCertificates(field, file));
  const absl::Time now = absl::Now();
  for (const Certificate& certificate : certificates) {
    if (certificate.not_before <= now && now < certificate.not_after) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        field, " is ", file, ", whose certificate of ", certificate.subject,
        now < certificate.not_before ? " is not valid yet: it holds from " : " has expired: from ",
        Written(certificate.not_before), " to ", Written(certificate.not_after), "; now is ",
        Written(now)));
  }
  return certificates;
}

absl::Status CheckKey(absl::string_view field, const std::string& key_file,
                      const std::string& certificate_file) {
  ISO_ASSIGN_OR_RETURN(const std::string key_text, ReadFile(field, key_file));
  ISO_ASSIGN_OR_RETURN(const std::string certificate_text, ReadFile(field, certificate_file));
  const KeyOwner key(PEM_read_bio_PrivateKey(Reader(key_text).get(), nullptr, NoPassword, nullptr));
  const X509Owner certificate(
      PEM_read_bio_X509(Reader(certificate_text).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is ", key_file,
                     ", which holds no private key; legal is a PEM file without a password"));
  }
  if (certificate == nullptr || X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(
        field, " is ", key_file, ", which is not the key of the certificate ", certificate_file));
  }
  return CheckSecrecy(field, key_file);
}

absl::Status CheckSecrecy(absl::string_view field, const std::string& file) {
  namespace fs = std::filesystem;
  constexpr fs::perms kOwnerAndReadingGroup = fs::perms::owner_all | fs::perms::group_read;
  std::error_code error;
  const fs::perms mode = fs::status(file, error).permissions();
  if (error || (mode & fs::perms::all & ~kOwnerAndReadingGroup) == fs::perms::none) {
    return absl::OkStatus();  // what is not there is for whoever reads it to complain of
  }
  return absl::PermissionDeniedError(
      absl::StrFormat("%s is %s, which has mode 0%03o; legal is 0600 or 0640, or less: whoever "
                      "reads it can pretend to be this service or its users",
                      field, file, static_cast<unsigned>(mode & fs::perms::all)));
}

absl::StatusOr<std::string> ReadSecretLine(absl::string_view field, const std::string& file,
                                           uint64_t most_bytes) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(field, file, most_bytes));
  ISO_RETURN_IF_ERROR(CheckSecrecy(field, file));
  return std::string(
      absl::StripAsciiWhitespace(absl::string_view(text).substr(0, text.find('\n'))));
}

absl::Time FirstExpiry(const std::vector<Certificate>& certificates) {
  return std::min_element(
             certificates.begin(), certificates.end(),
             [](const Certificate& a, const Certificate& b) { return a.not_after < b.not_after; })
      ->not_after;
}

absl::StatusOr<std::string> ParseSha256(absl::string_view field, absl::string_view text) {
  std::string digits = absl::AsciiStrToLower(absl::StrReplaceAll(text, {{":", ""}}));
  if (digits.size() == 64 && std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
    return digits;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      field, " is '", text, "'; legal is a SHA-256: 64 hexadecimal digits, colons allowed"));
}

}  // namespace isocenter::crypto
