#include "server/dicom/net/node_options.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/callers.h"

namespace isocenter::dicom {
namespace {

absl::Status CheckRange(const char* name, double value, double least, double greatest) {
  if (value >= least && value <= greatest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("dicom ", name, " is ", value, "; legal is ", least, " to ", greatest));
}

}  // namespace

absl::Status CheckAeTitle(absl::string_view field, const std::string& title) {
  const bool legal = !title.empty() && title.size() <= 16 && title.front() != ' ' &&
                     title.back() != ' ' && std::all_of(title.begin(), title.end(), [](char c) {
                       return absl::ascii_isprint(c) && c != '\\';
                     });
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is '", title,
                   "'; legal is 1 to 16 printable ASCII characters without backslash, no spaces at "
                   "the ends"));
}

absl::Status CheckOptions(const NodeOptions& options) {
  ISO_RETURN_IF_ERROR(CheckAeTitle("dicom AE title", options.ae_title));
  ISO_RETURN_IF_ERROR(CheckRange("port", options.port, 0, 65535));
  ISO_RETURN_IF_ERROR(CheckRange("max_associations", options.max_associations, 1, 256));
  ISO_RETURN_IF_ERROR(CheckRange("max_pdu_bytes", options.max_pdu_bytes, 4096, 131072));
  ISO_RETURN_IF_ERROR(CheckRange("negotiation_seconds", options.negotiation_seconds, 1, 3600));
  ISO_RETURN_IF_ERROR(CheckRange("idle_seconds", options.idle_seconds, 1, 86400));
  ISO_RETURN_IF_ERROR(CheckRange("tls_port", options.tls_port, 0, 65535));
  ISO_RETURN_IF_ERROR(
      CheckRange("max_associations_per_caller", options.max_associations_per_caller, 1, 256));
  ISO_RETURN_IF_ERROR(
      CheckRange("max_associations_per_address", options.max_associations_per_address, 1, 256));
  ISO_RETURN_IF_ERROR(CheckRange("max_find_matches", options.max_find_matches, 1, 1000000));
  if (options.tls_only && options.tls == nullptr) {
    return absl::InvalidArgumentError(
        "dicom tls_only is set without a certificate; legal is tls_only with dicom_node.tls");
  }
  if (options.tls != nullptr && !options.tls_only && options.port != 0 &&
      options.port == options.tls_port) {
    return absl::InvalidArgumentError(
        absl::StrCat("dicom port and tls_port are both ", options.port, "; legal are two ports"));
  }
  for (size_t i = 0; i < options.allowed_callers.size(); ++i) {
    ISO_RETURN_IF_ERROR(CheckCaller(absl::StrCat("dicom_node.allowed_caller[", i, "]"),
                                    options.allowed_callers[i]));
  }
  std::set<std::string> titles;
  for (const Peer& peer : options.peers) {
    ISO_RETURN_IF_ERROR(CheckAeTitle("dicom peer AE title", peer.ae_title));
    ISO_RETURN_IF_ERROR(CheckRange("peer port", peer.port, 1, 65535));
    if (peer.host.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("dicom peer ", peer.ae_title, " has no host"));
    }
    if (!titles.insert(peer.ae_title).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("dicom peer ", peer.ae_title, " is given twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace isocenter::dicom
