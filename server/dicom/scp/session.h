// What the services share while they serve one association.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/archive/archive.h"
#include "server/archive/catalog.h"
#include "server/dicom/net/association.h"
#include "server/dicom/net/callers.h"
#include "server/dicom/net/node_options.h"
#include "server/dicom/net/operations.h"
#include "server/dicom/net/peer_addresses.h"
#include "server/dicom/scp/query.h"

class DcmDataset;
struct T_DIMSE_C_FindRQ;
struct T_DIMSE_C_GetRQ;
struct T_DIMSE_C_MoveRQ;

namespace isocenter::dicom {

/// The part of the node that all associations use.
struct NodeContext {
  const NodeOptions& options;
  archive::Archive& archive;
  archive::Catalog& catalog;  // what queries and retrievals ask
  const NodeObserver& observer;
  CallerCounts& counts;
  const PeerAddresses& peer_addresses;

  void Report(NodeOperation operation, NodeOutcome outcome) const {
    if (observer) observer(operation, outcome);
  }
};

/// One association that is being served. Used by its thread only, but for the interruptor.
struct Session {
  const NodeContext& node;
  Association association;
  Interruptor& interruptor;
  std::string calling_ae_title;  // printable ASCII
  std::string address;           // of the peer, IPv4
  Subjects subjects;             // of the retrieval that is served
  std::string destination;       // of the C-MOVE that is served

  /// How long one message may take, in whole seconds as DCMTK wants them; at least one.
  int idle_seconds() const;
  /// Puts a record of this peer into the audit trail.
  void Audit(audit::Event event) const;
};

/// A connection that has come in.
struct Incoming {
  int socket;
  bool secure;  // TLS is spoken on it
  std::string address;
  std::string refusal;  // why it is to be rejected; empty: it is served
};

/// Serves a connected socket, which it takes over, from the association's request to its end.
void Serve(const Incoming& incoming, const NodeContext& node, Interruptor& interruptor);

// The services. `context` is the presentation context of the request. An error means that the
// association cannot go on; refusals and failures that the peer has been told of are OK.
absl::Status ServeFind(Session& session, uint8_t context, const T_DIMSE_C_FindRQ& request);
absl::Status ServeMove(Session& session, uint8_t context, const T_DIMSE_C_MoveRQ& request);
absl::Status ServeGet(Session& session, uint8_t context, const T_DIMSE_C_GetRQ& request);

/// Receives a request's identifier and reads it as a query. UNAVAILABLE: the association is broken;
/// INVALID_ARGUMENT: the identifier is no query of this class.
absl::StatusOr<Query> ReceiveQuery(Session& session, uint8_t context, const char* sop_class_uid);

/// Whether the peer has asked to cancel the request. UNAVAILABLE: the association is broken, or
/// asks for something else.
absl::StatusOr<bool> IsCancelled(Session& session, uint8_t context, uint16_t message_id);

}  // namespace isocenter::dicom
