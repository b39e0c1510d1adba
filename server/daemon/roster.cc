#include "server/daemon/roster.h"

#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"

namespace isocenter::daemon {
namespace {

roles::Role RoleOf(v1::WebRole role) {
  switch (role) {
    case v1::WEB_ROLE_ADMINISTRATOR:
      return roles::Role::kAdministrator;
    case v1::WEB_ROLE_OPERATOR:
      return roles::Role::kOperator;
    case v1::WEB_ROLE_CONSOLE:
      return roles::Role::kConsole;
    default:
      return roles::Role::kViewer;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<roles::Roster>> OpenRoster(const v1::WebConfig& config) {
  std::unique_ptr<roles::TokenBook> tokens;
  if (!config.tokens_file().empty()) {
    ISO_ASSIGN_OR_RETURN(tokens, roles::TokenBook::Open(config.tokens_file()));
  }
  std::vector<roles::CertificateHolder> certificates;
  for (const v1::WebCertificate& certificate : config.certificate()) {
    certificates.push_back({certificate.subject(), RoleOf(certificate.role())});
  }
  return std::make_unique<roles::Roster>(std::move(tokens), std::move(certificates));
}

}  // namespace isocenter::daemon
