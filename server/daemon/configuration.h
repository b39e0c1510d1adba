// All that isocenterd is told, read and checked before anything is started. `isocenterd --check` is
// this and nothing else, so it refuses what the start would refuse as wrong configuration. What
// else keeps a start from succeeding is the machine's state: a port that is taken, a disk, a
// device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/cluster_index/connection_string.h"
#include "server/config/protocol_book.h"
#include "server/crypto/certificates.h"
#include "server/daemon/flags.h"
#include "server/dicom/net/node_options.h"
#include "server/pipeline/engine.h"
#include "server/roles/roster.h"

namespace isocenter::daemon {

struct Configuration {
  v1::ServerConfig config;  // with its defaults
  config::ProtocolBook protocols;
  std::string backend;  // that is wanted; empty: the best one
  std::optional<pipeline::DeviceFault> fault;

  // Of the files that `config` names: certificates, keys, tokens.
  dicom::NodeOptions dicom;
  std::unique_ptr<roles::Roster> roster;   // who may use gRPC and the web
  std::vector<crypto::Expiry> expiries;    // when each certificate ends
  std::vector<std::string> trace_headers;  // sent with each request to the collector of traces
  // To the database of the shared index; empty: there is none.
  cluster_index::ConnectionParameters shared_index;
};

/// Unspecified counts as a viewer.
roles::Role RoleOf(v1::WebRole role);

/// Certificates are valid now, and each key is that of its certificate; of those that end within 30
/// days the log has a warning. Errors, each with the field
/// or flag (and the file), its value and what is legal: NOT_FOUND (a file that cannot be read),
/// PERMISSION_DENIED (keys and tokens that others may read), INVALID_ARGUMENT.
absl::StatusOr<Configuration> ReadConfiguration(const Flags& flags);

}  // namespace isocenter::daemon
