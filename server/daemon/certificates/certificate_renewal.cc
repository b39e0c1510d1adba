#include "server/daemon/certificates/certificate_renewal.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "server/base/log.h"

namespace isocenter::daemon {

CertificateRenewal::CertificateRenewal(std::vector<UsedCertificates> used,
                                       std::function<void(const crypto::Expiry&)> on_renewed)
    : on_renewed_(std::move(on_renewed)) {
  for (UsedCertificates& each : used) {
    const Versions versions = VersionsOf(each.files);
    watched_.push_back({std::move(each), versions, versions});
  }
}

CertificateRenewal::Versions CertificateRenewal::VersionsOf(const std::vector<std::string>& files) {
  Versions versions;
  for (const std::string& file : files) {
    struct stat about {};
    std::optional<Version>& version = versions.emplace_back();
    if (stat(file.c_str(), &about) != 0) continue;
    version = {about.st_ino, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
  }
  return versions;
}

void CertificateRenewal::Look() {
  for (Watched& watched : watched_) {
    Versions now = VersionsOf(watched.used.files);
    const bool is_settled = now == watched.seen;
    watched.seen = std::move(now);
    if (!is_settled || watched.seen == watched.read) continue;
    watched.read = watched.seen;
    Renew(watched.used);
  }
}

void CertificateRenewal::Renew(const UsedCertificates& used) const {
  const absl::StatusOr<std::vector<crypto::Expiry>> renewed = used.renew();
  if (!renewed.ok()) {
    spdlog::error(
        "event=certificate_not_renewed field={} error=\"{}\" why=\"its files have changed, and "
        "what was read of them before is used on\" todo=\"docs/runbook.md#rotate-certificates\"",
        used.field, renewed.status().ToString());
    return;
  }
  for (const crypto::Expiry& expiry : *renewed) {
    spdlog::info("event=certificate_renewed field={} ends=\"{}\"", expiry.certificate,
                 crypto::Written(expiry.not_after));
    on_renewed_(expiry);
  }
}

}  // namespace isocenter::daemon
