#include "server/config/exposure.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/config/addresses.h"
#include "server/config/fields.h"
#include "server/config/openid_config.h"

namespace isocenter::config {
namespace {

bool IsNamed(const v1::ServerConfig& config, v1::Listener listener) {
  return std::ranges::find(config.unprotected_listener(), listener) !=
         config.unprotected_listener().end();
}

absl::Status CheckGrpc(const v1::ServerConfig& config) {
  const std::string& address = config.grpc_address();
  if (!CheckAddress("", address, AddressFamily::kAny).ok() || IsLoopback(address)) {
    return absl::OkStatus();
  }
  const v1::TlsConfig& tls = config.grpc_tls();
  const bool has_tls = !tls.certificate_file().empty();
  const bool has_tokens = !config.web().tokens_file().empty() || HasOpenId(config.web());
  const bool has_roles = has_tokens || config.web().certificate_size() > 0;
  const std::string value = absl::StrCat("'", address, "'");
  if (has_tls && (has_roles || !tls.client_ca_file().empty())) return absl::OkStatus();
  if (!IsNamed(config, v1::LISTENER_GRPC)) {
    return Illegal("grpc_address", value,
                   "127.0.0.1:port or localhost:port; beyond this machine only with "
                   "grpc_tls.certificate_file, and grpc_tls.client_ca_file, web.tokens_file, "
                   "web.certificate or web.openid, or with unprotected_listener: LISTENER_GRPC");
  }
  if (!has_tls && has_tokens) {
    return Illegal(
        "grpc_address", value,
        "127.0.0.1:port or localhost:port, or any with grpc_tls.certificate_file: "
        "without it the tokens of web.tokens_file and web.openid would cross the network "
        "in plain text");
  }
  return absl::OkStatus();
}

absl::Status CheckDicom(const v1::ServerConfig& config) {
  const v1::DicomNodeConfig& node = config.dicom_node();
  if (node.disabled() || !CheckHost("", node.address(), AddressFamily::kIpv4).ok() ||
      IsLoopback(node.address())) {
    return absl::OkStatus();
  }
  const bool knows_callers = !node.tls().anonymous_callers() || node.allowed_caller_size() > 0;
  if (node.tls_only() && knows_callers) return absl::OkStatus();
  if (IsNamed(config, v1::LISTENER_DICOM)) return absl::OkStatus();
  return Illegal("dicom_node.address", absl::StrCat("'", node.address(), "'"),
                 "127.0.0.1 or localhost; beyond this machine only with dicom_node.tls_only, and "
                 "without tls.anonymous_callers or with allowed_caller, or with "
                 "unprotected_listener: LISTENER_DICOM");
}

}  // namespace

void CheckExposure(const v1::ServerConfig& config, Mistakes& mistakes) {
  for (const int listener : config.unprotected_listener()) {
    if (v1::Listener_IsValid(listener) && listener != v1::LISTENER_UNSPECIFIED) continue;
    mistakes.Add(Illegal("unprotected_listener", absl::StrCat(listener),
                         "a Listener of this version other than UNSPECIFIED"));
  }
  mistakes.Add(CheckGrpc(config));
  mistakes.Add(CheckDicom(config));
}

}  // namespace isocenter::config
