// Certificates and keys of a client, as gRPC can use them: what it cannot use it does not tell.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::client {

/// The text of a PEM file with at least one certificate, all of them whole. `name` is what it is
/// for, e.g. "the CA file". Errors: those of ReadPemFile, INVALID_ARGUMENT (it holds something
/// else, or a certificate that is cut or no base64).
absl::StatusOr<std::string> ReadCertificates(absl::string_view name, const std::string& path);

/// The same of a private key, which nothing may protect: nobody is there to be asked for a
/// passphrase.
absl::StatusOr<std::string> ReadPrivateKey(absl::string_view name, const std::string& path);

}  // namespace isocenter::client
