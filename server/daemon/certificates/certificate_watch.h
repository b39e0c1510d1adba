// What the log says of certificates while the service runs: that they end soon, and that they have.
#pragma once

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/crypto/certificates.h"

namespace isocenter::daemon {

/// Of a service that runs for months. One thread at a time.
class CertificateWatch {
 public:
  /// `started`: when WarnOfEnds was called, which said the same of that day.
  CertificateWatch(std::vector<crypto::Expiry> expiries, absl::Time started)
      : expiries_(std::move(expiries)), told_(started), seen_(started) {}

  /// Says that a certificate has ended when it does, and once a day of each that has or will soon.
  /// To be called again and again; does nothing mostly.
  void Look(absl::Time now);
  /// A certificate of the same field takes the place of the one before.
  void Renew(const crypto::Expiry& expiry);

 private:
  std::vector<crypto::Expiry> expiries_;
  absl::Time told_;  // of all
  absl::Time seen_;  // the last look
};

}  // namespace isocenter::daemon
