// Certificates that are renewed while the service runs.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/crypto/certificates.h"

namespace isocenter::daemon {

/// Files that belong together, and who uses them.
struct UsedCertificates {
  std::string field;  // of the configuration, that names them
  std::vector<std::string> files;
  /// Checks what the files hold now, and uses it from now on. Returns when the certificates end.
  /// Errors: what was used before is used on.
  std::function<absl::StatusOr<std::vector<crypto::Expiry>>()> renew;
};

/// Sees that files have been replaced, has them used, and says so in the log. A certificate and its
/// key are two files: they are read when nothing has changed any more since the last look. One
/// thread at a time.
class CertificateRenewal {
 public:
  /// `on_renewed` is told when each renewed certificate ends.
  CertificateRenewal(std::vector<UsedCertificates> used,
                     std::function<void(const crypto::Expiry&)> on_renewed);
  /// To be called again and again; does nothing mostly.
  void Look();

 private:
  /// Of each file, what tells one version from another; nothing where there is none.
  struct Version {
    ino_t file;
    off_t bytes;
    int64_t seconds, nanoseconds;  // of its last change
    bool operator==(const Version&) const = default;
  };
  using Versions = std::vector<std::optional<Version>>;
  static Versions VersionsOf(const std::vector<std::string>& files);

  struct Watched {
    UsedCertificates used;
    Versions read, seen;  // those that are used; those of the last look
  };
  void Renew(const UsedCertificates& used) const;

  std::vector<Watched> watched_;
  const std::function<void(const crypto::Expiry&)> on_renewed_;
};

}  // namespace isocenter::daemon
