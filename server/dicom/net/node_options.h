// Whom the node talks with, and how.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/audit/event.h"
#include "server/dicom/net/transcode.h"

namespace isocenter::dicom {

class TlsContext;

/// A remote node that C-MOVE may send to.
struct Peer {
  std::string ae_title;                   // 1 to 16 characters
  std::string host;                       // name or address
  int port = 104;                         // 1 to 65535
  std::shared_ptr<const TlsContext> tls;  // for a requestor; null: plain TCP
  /// In which it gets images if it can take them so; as they are stored if not.
  Compression compression = Compression::kNone;
};

/// Who may associate; both have to hold.
struct Caller {
  std::string ae_title;  // empty: any
  std::string address;   // IPv4 address or network as "10.1.0.0/16"; empty: any
};

struct NodeOptions {
  std::string ae_title = "ISOCENTER";  // 1 to 16 printable ASCII characters, no backslash
  std::string address = "127.0.0.1";   // IPv4 address or host name to listen on
  int port = 11112;                    // 0 to 65535; 0 picks a free one
  std::vector<Peer> peers;             // destinations of C-MOVE, distinct AE titles
  int max_associations = 32;           // 1 to 256, served at once; more are rejected
  bool check_called_ae_title = false;  // reject associations that call another title
  int max_pdu_bytes = 131072;          // 4096 to 131072
  double negotiation_seconds = 15;     // more than 0; connection to accepted association
  double idle_seconds = 60;            // more than 0; silence after which an association is aborted
  std::shared_ptr<const TlsContext> tls;   // for an acceptor; null: no associations over TLS
  int tls_port = 2762;                     // 0 to 65535, another than `port`; 0 picks a free one
  bool tls_only = false;                   // do not listen on `port`
  std::vector<Caller> allowed_callers;     // empty: everybody
  int max_associations_per_caller = 256;   // 1 to 256, of one AE title at one address
  int max_associations_per_address = 256;  // 1 to 256, of all AE titles at one address
  int max_find_matches = 100000;           // 1 to 1000000; more end a query with status A700
  audit::Recorder* audit = nullptr;        // outlives the node; null: nothing is recorded
};

/// INVALID_ARGUMENT: it is not 1 to 16 printable ASCII characters (PS3.5, VR AE). `field` names it.
absl::Status CheckAeTitle(absl::string_view field, const std::string& title);

/// INVALID_ARGUMENT: an option, named with its value and what is legal.
absl::Status CheckOptions(const NodeOptions& options);

}  // namespace isocenter::dicom
