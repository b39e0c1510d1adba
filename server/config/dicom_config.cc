#include "server/config/dicom_config.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/nearest.h"
#include "server/base/host_name.h"
#include "server/base/protected_url.h"
#include "server/config/addresses.h"
#include "server/config/fields.h"
#include "server/config/mistakes.h"

namespace isocenter::config {
namespace {

// With a port, what DCMTK has room for.
constexpr size_t kLongestHost = 57;

absl::Status CheckAeTitle(absl::string_view field, const std::string& title) {
  bool legal = !title.empty() && title.size() <= 16 && title.front() != ' ' && title.back() != ' ';
  for (const char c : title) legal = legal && c >= 0x20 && c < 0x7f && c != '\\';
  if (legal) return absl::OkStatus();
  return Illegal(field, absl::StrCat("'", title, "'"),
                 "1 to 16 printable ASCII characters without backslashes, no blank at the ends");
}

/// "; there is PACS": the peers, and which of them was meant.
std::string PeersText(const std::string& title, const std::set<std::string>& peers) {
  const std::vector<std::string> names(peers.begin(), peers.end());
  return absl::StrCat("; there ", names.size() == 1 ? "is " : "are ",
                      names.empty() ? "none" : absl::StrJoin(names, ", "),
                      DidYouMean(title, names));
}

absl::Status CheckIsPeer(absl::string_view field, const std::string& title,
                         const std::set<std::string>& peers) {
  if (peers.contains(title)) return absl::OkStatus();
  return Illegal(field, absl::StrCat("'", title, "'"),
                 absl::StrCat("the ae_title of a dicom_node.peer", PeersText(title, peers)));
}

void CheckDicomSecurity(const v1::DicomNodeConfig& node, Mistakes& mistakes) {
  const v1::DicomTlsConfig& tls = node.tls();
  if (tls.certificate_file().empty() != tls.private_key_file().empty()) {
    mistakes.Add(Illegal(
        absl::StrCat("dicom_node.tls.",
                     tls.certificate_file().empty() ? "certificate_file" : "private_key_file"),
        "''", "a PEM file, when the other of certificate_file and private_key_file is set"));
  }
  if (!v1::DicomTlsProfile_IsValid(tls.profile())) {
    mistakes.Add(Illegal("dicom_node.tls.profile", absl::StrCat(static_cast<int>(tls.profile())),
                         "a DicomTlsProfile of this version"));
  }
  if (!tls.certificate_file().empty() && tls.ca_file().empty() && !tls.anonymous_callers()) {
    mistakes.Add(
        Illegal("dicom_node.tls.ca_file", "''", "a PEM file, unless anonymous_callers is set"));
  }
  if (node.tls_only() && tls.certificate_file().empty()) {
    mistakes.Add(
        Illegal("dicom_node.tls_only", "true", "true with dicom_node.tls.certificate_file"));
  }
  mistakes.Add(CheckRange("dicom_node.tls_port", node.tls_port(), 1, 65535));
  if (!tls.certificate_file().empty() && !node.tls_only() && node.tls_port() == node.port()) {
    mistakes.Add(Illegal("dicom_node.tls_port", absl::StrCat(node.tls_port()),
                         "another port than dicom_node.port"));
  }
  mistakes.Add(CheckRange("dicom_node.max_associations_per_caller",
                          node.max_associations_per_caller(), 1, 256));
  mistakes.Add(CheckRange("dicom_node.max_associations_per_address",
                          node.max_associations_per_address(), 1, 256));
  mistakes.Add(CheckRange("dicom_node.max_pdu_bytes", node.max_pdu_bytes(), 4096, 131072));
  mistakes.Add(CheckRange("dicom_node.idle_seconds", node.idle_seconds(), 1, 86400));
  mistakes.Add(CheckRange("dicom_node.max_find_matches", node.max_find_matches(), 1, 1e6));
  for (int i = 0; i < node.peer_size(); ++i) {
    const v1::DicomPeer& peer = node.peer(i);
    if (peer.tls() && peer.tls_ca_file().empty() && tls.ca_file().empty()) {
      mistakes.Add(Illegal(absl::StrCat("dicom_node.peer[", i, "].tls_ca_file"), "''",
                           "a PEM file, when tls is set and dicom_node.tls.ca_file is not"));
    }
    if (!peer.tls() && (!peer.tls_ca_file().empty() || !peer.tls_certificate_sha256().empty() ||
                        peer.tls_check_host())) {
      mistakes.Add(Illegal(absl::StrCat("dicom_node.peer[", i, "].tls"), "false",
                           "true, when another field of TLS is set"));
    }
  }
}

/// That a protocol's results have a form that a destination takes which is to get them.
absl::Status CheckForms(const std::string& field, const v1::DicomDestination& destination,
                        const v1::ServerConfig& config) {
  std::set<int> taken;
  for (const int form : destination.form()) {
    if (!v1::DicomForm_IsValid(form) || form == v1::DICOM_FORM_UNSPECIFIED ||
        !taken.insert(form).second) {
      return Illegal(absl::StrCat(field, ".form"), absl::StrCat(form),
                     "a DicomForm of this version, each at most once");
    }
  }
  if (taken.empty() || destination.on_request_only()) return absl::OkStatus();
  for (const v1::ReconstructionProtocol& protocol : config.protocol()) {
    const auto& wanted = destination.protocol();
    const bool is_sent =
        wanted.empty() || std::ranges::find(wanted, protocol.name()) != wanted.end();
    const auto& stored = protocol.dicom_forms();
    if (!is_sent || stored.empty() ||
        std::ranges::any_of(stored, [&](int form) { return taken.contains(form); })) {
      continue;
    }
    return Illegal(absl::StrCat(field, ".form"), "such that it gets nothing",
                   absl::StrCat("one of the dicom_forms of protocol '", protocol.name(),
                                "', or a list of protocols without it"));
  }
  return absl::OkStatus();
}

/// Where results go by STOW-RS.
void CheckDicomWeb(const std::string& field, const v1::DicomDestination& destination,
                   Mistakes& mistakes) {
  constexpr size_t kLongestUrl = 1024;
  const v1::DicomWebDestination& web = destination.dicomweb();
  const auto illegal = [&](absl::string_view name, absl::string_view value,
                           absl::string_view legal) {
    mistakes.Add(Illegal(absl::StrCat(field, ".", name), absl::StrCat("'", value, "'"), legal));
  };
  if (!destination.ae_title().empty()) {
    illegal("ae_title", destination.ae_title(), "empty with dicomweb, which has a name");
  }
  mistakes.Add(CheckAeTitle(absl::StrCat(field, ".dicomweb.name"), web.name()));
  if (destination.storage_commitment()) {
    mistakes.Add(Illegal(absl::StrCat(field, ".storage_commitment"), "true",
                         "false with dicomweb, which knows no commitment"));
  }
  if (destination.commitment_seconds() != 0) {
    mistakes.Add(Illegal(absl::StrCat(field, ".commitment_seconds"),
                         absl::StrCat(destination.commitment_seconds()),
                         "0 with dicomweb, which knows no commitment"));
  }
  const std::string& url = web.url();
  if (!IsWebUrl(url) || url.size() > kLongestUrl || !absl::EndsWith(url, "/studies") ||
      absl::StrContains(url, '?')) {
    illegal("dicomweb.url", url.substr(0, 100),
            "https://HOST[:PORT]/PATH/studies in at most 1024 characters, without a user name");
    return;
  }
  if (!IsProtectedUrl(url) && !web.unprotected()) {
    illegal("dicomweb.url", url.substr(0, 100),
            "https://, or http:// on this machine, or with `unprotected: true`");
  }
  if (!IsProtectedUrl(url) && !web.bearer_token_file().empty()) {
    illegal("dicomweb.bearer_token_file", web.bearer_token_file(),
            "a file only with a url that is https, or http on this machine: a token is a secret");
  }
  if (IsProtectedUrl(url) && web.unprotected()) {
    mistakes.Add(Illegal(absl::StrCat(field, ".dicomweb.unprotected"), "true",
                         "false with a url that is https, or http on this machine"));
  }
  if (web.certificate_file().empty() != web.private_key_file().empty()) {
    illegal(absl::StrCat("dicomweb.",
                         web.certificate_file().empty() ? "certificate_file" : "private_key_file"),
            "", "a PEM file, when the other of certificate_file and private_key_file is set");
  }
  if (absl::StartsWith(url, "https://")) return;
  if (!web.ca_file().empty()) {
    illegal("dicomweb.ca_file", web.ca_file(), "a PEM file only with a url that is https");
  }
  if (!web.certificate_file().empty()) {
    illegal("dicomweb.certificate_file", web.certificate_file(),
            "a PEM file only with a url that is https");
  }
}

/// Whether the peer of this title is where the node itself listens.
bool IsThisNode(const v1::DicomNodeConfig& node, const std::string& title) {
  if (node.disabled()) return false;
  return std::ranges::any_of(node.peer(), [&](const v1::DicomPeer& peer) {
    const std::string& host = peer.host();
    const bool is_here =
        host == node.address() || IsLoopback(absl::StrCat(host, ":0")) || host == HostName();
    const bool is_port = (peer.port() == node.port() && !node.tls_only()) ||
                         (peer.port() == node.tls_port() && !node.tls().certificate_file().empty());
    return peer.ae_title() == title && is_here && is_port;
  });
}

void CheckDestinations(const v1::ServerConfig& config, const std::set<std::string>& peer_titles,
                       Mistakes& mistakes) {
  const v1::DicomNodeConfig& node = config.dicom_node();
  std::set<std::string> titles;
  for (int i = 0; i < node.destination_size(); ++i) {
    const v1::DicomDestination& destination = node.destination(i);
    const std::string field = absl::StrCat("dicom_node.destination[", i, "]");
    const std::string& title = DestinationName(destination);
    const bool is_new = titles.insert(title).second;
    if (destination.has_dicomweb()) {
      CheckDicomWeb(field, destination, mistakes);
      if (!is_new) {
        mistakes.Add(Illegal(absl::StrCat(field, ".dicomweb.name"), absl::StrCat("'", title, "'"),
                             "a name that no other destination has"));
      }
    } else if (!peer_titles.contains(title)) {
      mistakes.Add(CheckIsPeer(absl::StrCat(field, ".ae_title"), title, peer_titles));
    } else if (!is_new) {
      mistakes.Add(Illegal(absl::StrCat(field, ".ae_title"), absl::StrCat("'", title, "'"),
                           "the title of a dicom_node.peer that no other destination has"));
    } else if (IsThisNode(node, title)) {
      mistakes.Add(Illegal(absl::StrCat(field, ".ae_title"), absl::StrCat("'", title, "'"),
                           "the title of a peer elsewhere: that one's host and port are this "
                           "node's own, which takes no images"));
    }
    for (const int role : destination.role()) {
      if (v1::ResultRole_IsValid(role) && role != v1::RESULT_ROLE_UNSPECIFIED) continue;
      mistakes.Add(Illegal(absl::StrCat(field, ".role"), absl::StrCat(role),
                           "a ResultRole of this version"));
    }
    mistakes.Add(CheckForms(field, destination, config));
    mistakes.Add(CheckRange(absl::StrCat(field, ".max_associations"),
                            destination.max_associations(), 1, 16));
    mistakes.Add(CheckRange(absl::StrCat(field, ".first_retry_seconds"),
                            destination.first_retry_seconds(), 0.05, 3600));
    mistakes.Add(CheckRange(absl::StrCat(field, ".longest_retry_seconds"),
                            destination.longest_retry_seconds(), destination.first_retry_seconds(),
                            86400));
    if (!destination.has_dicomweb()) {
      mistakes.Add(CheckRange(absl::StrCat(field, ".commitment_seconds"),
                              destination.commitment_seconds(), 1, 604800));
    }
  }
}

}  // namespace

const std::string& DestinationName(const v1::DicomDestination& destination) {
  return destination.has_dicomweb() ? destination.dicomweb().name() : destination.ae_title();
}

void ApplyDicomDefaults(v1::DicomNodeConfig& node) {
  DefaultString(node.mutable_ae_title(), "ISOCENTER");
  DefaultString(node.mutable_address(), "127.0.0.1");
  Default(node, &v1::DicomNodeConfig::port, &v1::DicomNodeConfig::set_port, 11112u);
  Default(node, &v1::DicomNodeConfig::max_associations, &v1::DicomNodeConfig::set_max_associations,
          32u);
  if (node.has_worklist()) {
    Default(*node.mutable_worklist(), &v1::WorklistConfig::timeout_seconds,
            &v1::WorklistConfig::set_timeout_seconds, 10.0);
  }
  Default(node, &v1::DicomNodeConfig::tls_port, &v1::DicomNodeConfig::set_tls_port, 2762u);
  Default(node, &v1::DicomNodeConfig::max_associations_per_caller,
          &v1::DicomNodeConfig::set_max_associations_per_caller, node.max_associations());
  Default(node, &v1::DicomNodeConfig::max_associations_per_address,
          &v1::DicomNodeConfig::set_max_associations_per_address,
          std::max(1u, node.max_associations() / 2));
  Default(node, &v1::DicomNodeConfig::max_pdu_bytes, &v1::DicomNodeConfig::set_max_pdu_bytes,
          131072u);
  Default(node, &v1::DicomNodeConfig::idle_seconds, &v1::DicomNodeConfig::set_idle_seconds, 60.0);
  Default(node, &v1::DicomNodeConfig::max_find_matches, &v1::DicomNodeConfig::set_max_find_matches,
          100000u);
  for (v1::DicomDestination& destination : *node.mutable_destination()) {
    using D = v1::DicomDestination;
    Default(destination, &D::max_associations, &D::set_max_associations, 1u);
    Default(destination, &D::first_retry_seconds, &D::set_first_retry_seconds, 5.0);
    Default(destination, &D::longest_retry_seconds, &D::set_longest_retry_seconds,
            std::max(300.0, destination.first_retry_seconds()));
    if (destination.has_dicomweb()) continue;
    Default(destination, &D::commitment_seconds, &D::set_commitment_seconds, 3600.0);
  }
}

absl::Status ValidateDicomNode(const v1::ServerConfig& config) {
  const v1::DicomNodeConfig& node = config.dicom_node();
  Mistakes mistakes;
  mistakes.Add(CheckAeTitle("dicom_node.ae_title", node.ae_title()));
  mistakes.Add(CheckHost("dicom_node.address", node.address(), AddressFamily::kIpv4));
  // 0, any free port, can only come from a flag: in the file it means the default.
  mistakes.Add(CheckRange("dicom_node.port", node.port(), 0, 65535));
  mistakes.Add(CheckRange("dicom_node.max_associations", node.max_associations(), 1, 256));
  CheckDicomSecurity(node, mistakes);
  std::set<std::string> titles;
  for (int i = 0; i < node.peer_size(); ++i) {
    const v1::DicomPeer& peer = node.peer(i);
    const std::string field = absl::StrCat("dicom_node.peer[", i, "]");
    mistakes.Add(CheckAeTitle(absl::StrCat(field, ".ae_title"), peer.ae_title()));
    mistakes.Add(CheckRange(absl::StrCat(field, ".port"), peer.port(), 1, 65535));
    if (!v1::DicomCompression_IsValid(peer.compression())) {
      mistakes.Add(Illegal(absl::StrCat(field, ".compression"),
                           absl::StrCat(static_cast<int>(peer.compression())),
                           "a DicomCompression of this version"));
    }
    if (peer.host().empty() || peer.host().size() > kLongestHost) {
      mistakes.Add(
          Illegal(absl::StrCat(field, ".host"), absl::StrCat("'", peer.host().substr(0, 100), "'"),
                  absl::StrCat("a host name or address of at most ", kLongestHost, " characters")));
    }
    if (!titles.insert(peer.ae_title()).second) {
      mistakes.Add(Illegal(absl::StrCat(field, ".ae_title"),
                           absl::StrCat("'", peer.ae_title(), "'"),
                           "a title that no other peer has"));
    }
  }
  if (node.has_worklist()) {
    mistakes.Add(CheckIsPeer("dicom_node.worklist.peer", node.worklist().peer(), titles));
    mistakes.Add(CheckRange("dicom_node.worklist.timeout_seconds",
                            node.worklist().timeout_seconds(), 1, 60));
  }
  if (node.has_mpps()) {
    mistakes.Add(CheckIsPeer("dicom_node.mpps.peer", node.mpps().peer(), titles));
  }
  CheckDestinations(config, titles, mistakes);
  return mistakes.status();
}

std::vector<std::string> DicomWarnings(const v1::DicomNodeConfig& node) {
  std::vector<std::string> warnings;
  for (int i = 0; i < node.allowed_caller_size() && !node.disabled(); ++i) {
    const v1::DicomCaller& caller = node.allowed_caller(i);
    const bool is_peer = std::ranges::any_of(node.peer(), [&](const v1::DicomPeer& peer) {
      return peer.ae_title() == caller.ae_title();
    });
    if (!caller.address().empty() || is_peer) continue;
    warnings.push_back(absl::StrCat("dicom_node.allowed_caller[", i, "] is '", caller.ae_title(),
                                    "' at any address: whoever says that it has this AE title "
                                    "passes; give its address too"));
  }
  return warnings;
}

}  // namespace isocenter::config
