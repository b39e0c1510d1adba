#include "server/daemon/certificates/certificate_watch.h"

#include <algorithm>

#include "server/base/log.h"
#include "server/daemon/certificates/certificate_checks.h"

namespace isocenter::daemon {
namespace {

constexpr absl::Duration kBetweenWarnings = absl::Hours(24);

void TellOfEnd(const crypto::Expiry& expiry) {
  spdlog::error(
      "event=certificate_has_ended field={} ended=\"{}\" why=\"whoever checks it does not connect "
      "any more, and the service does not start again\" "
      "todo=\"renew it: docs/runbook.md#rotate-certificates\"",
      expiry.certificate, crypto::Written(expiry.not_after));
}

}  // namespace

void CertificateWatch::Renew(const crypto::Expiry& expiry) {
  const auto before =
      std::ranges::find(expiries_, expiry.certificate, &crypto::Expiry::certificate);
  if (before == expiries_.end()) {
    expiries_.push_back(expiry);
  } else {
    *before = expiry;
  }
}

void CertificateWatch::Look(absl::Time now) {
  // A clock that was set back may be right: the day counts from there.
  if (now < told_) told_ = now;
  const bool daily = now - told_ >= kBetweenWarnings;
  if (daily) told_ = now;
  std::vector<crypto::Expiry> valid;
  for (const crypto::Expiry& expiry : expiries_) {
    if (now < expiry.not_after) {
      valid.push_back(expiry);
    } else if (daily || seen_ < expiry.not_after) {
      TellOfEnd(expiry);
    }
  }
  seen_ = now;
  if (daily) WarnOfEnds(valid, now);
}

}  // namespace isocenter::daemon
