// The embedded DICOM node: a provider of C-ECHO, C-FIND, C-MOVE and C-GET over the archive.
// Its services are described in docs/dicom.md.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "server/archive/archive.h"
#include "server/archive/catalog.h"
#include "server/dicom/net/node_options.h"
#include "server/dicom/net/operations.h"

namespace isocenter::dicom {

/// Serves until it is stopped or destroyed. One thread per association; never forks.
class Node {
 public:
  /// Listens and returns. Queries and retrievals ask `shared`, or where it is null the archive
  /// alone; both must outlive the node. Errors: INVALID_ARGUMENT (an option;
  /// named with its value and what is legal), FAILED_PRECONDITION (the DICOM dictionary is not
  /// loaded), UNAVAILABLE (the address is not ours or the port is taken).
  static absl::StatusOr<std::unique_ptr<Node>> Start(const NodeOptions& options,
                                                     archive::Archive& archive,
                                                     NodeObserver observer,
                                                     archive::Catalog* shared = nullptr);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Ends all associations and returns when nothing of the node runs any more: at once but for
  /// connections that are being made to a peer (up to 5 s). May be called again.
  void Stop();
  /// The ports it listens on, 0 where it does not.
  int port() const;
  int tls_port() const;

 private:
  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace isocenter::dicom
