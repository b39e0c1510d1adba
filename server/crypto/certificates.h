// X.509 certificates in PEM files: whose they are, how long they hold, which key belongs to them.
// Read at the start, so that a mistake is told there and not by a failed handshake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace isocenter::crypto {

struct Certificate {
  std::string subject;        // as RFC 2253 writes it, e.g. "CN=pacs,O=Example Hospital"
  std::string issuer;         // likewise
  bool is_authority = false;  // it may sign others
  std::string sha256;         // of the DER form; 64 lower-case hexadecimal digits
  absl::Time not_before, not_after;
};

/// A certificate for whoever watches that it is renewed in time.
struct Expiry {
  std::string certificate;  // what it is for, e.g. "dicom_node"
  absl::Time not_after;
};

/// All certificates of a PEM file, at least one, in its order. `field` names the file in messages.
/// Errors: NOT_FOUND (cannot be read), INVALID_ARGUMENT (no certificate in it, or a broken one).
absl::StatusOr<std::vector<Certificate>> ReadCertificates(absl::string_view field,
                                                          const std::string& file);

/// As ReadCertificates, and all of them are valid now. INVALID_ARGUMENT: one is not (yet, any
/// more), with its dates.
absl::StatusOr<std::vector<Certificate>> ReadValidCertificates(absl::string_view field,
                                                               const std::string& file);

/// Whether the private key is that of the first certificate of `certificate_file`. Errors:
/// those of CheckSecrecy, NOT_FOUND (cannot be read), INVALID_ARGUMENT (no key, or the key of
/// another certificate).
absl::Status CheckKey(absl::string_view field, const std::string& key_file,
                      const std::string& certificate_file);

/// Whether nobody but its owner and its group can read a file of secrets, and only its owner write
/// it. PERMISSION_DENIED otherwise, naming `field`, the file, its mode and what is legal.
absl::Status CheckSecrecy(absl::string_view field, const std::string& file);

/// The first line of a file of one secret, without blanks around it; it may be empty. Errors: those
/// of ReadRegularFile and CheckSecrecy.
absl::StatusOr<std::string> ReadSecretLine(absl::string_view field, const std::string& file,
                                           uint64_t most_bytes);

/// The one of the certificates that expires first. `certificates` is not empty.
absl::Time FirstExpiry(const std::vector<Certificate>& certificates);

/// A certificate's date for people, e.g. "2027-01-31 12:00:00 UTC".
std::string Written(absl::Time time);

/// A SHA-256 as people write it, with or without colons, in the form of Certificate::sha256.
/// INVALID_ARGUMENT: not 64 hexadecimal digits.
absl::StatusOr<std::string> ParseSha256(absl::string_view field, absl::string_view text);

}  // namespace isocenter::crypto
