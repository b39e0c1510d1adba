// Owners of DCMTK's associations, accepted from a connected socket or requested from a peer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/dicom/net/node_options.h"

struct T_ASC_Association;

namespace isocenter::dicom {

/// Sockets whose operations another thread can end. Thread-safe.
class Interruptor {
 public:
  /// Lets Interrupt() reach a connected socket until Unwatch(), even when the socket's owner closes
  /// it before. The peer sees the connection's end only after both.
  void Watch(int socket);
  /// `socket`: the number that it had when it was watched.
  void Unwatch(int socket);
  /// Makes all operations on watched sockets fail, now and from now on.
  void Interrupt();

 private:
  absl::Mutex mutex_;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int, int> duplicates_ ABSL_GUARDED_BY(mutex_);  // by the watched socket
};

/// One association with its network and connection, which `interruptor` reaches as long as it
/// lives. Not thread-safe.
class Association {
 public:
  /// Reads the request of a peer that has connected to `socket`, which it takes over, over TLS
  /// where `secure`. The association is neither accepted nor rejected yet. Errors: UNAVAILABLE (no
  /// request came in time, or no legal one; the peer's certificate is not accepted).
  static absl::StatusOr<Association> Receive(int socket, bool secure, const NodeOptions& options,
                                             Interruptor& interruptor);

  /// Asks `peer` to take instances of the given classes, over TLS where the peer has it. Errors:
  /// UNAVAILABLE (not reachable, it rejects, or one side's certificate is not accepted).
  static absl::StatusOr<Association> Request(const Peer& peer, const NodeOptions& options,
                                             const std::vector<std::string>& sop_class_uids,
                                             Interruptor& interruptor);

  Association(Association&& other) noexcept;
  Association& operator=(Association&&) = delete;
  /// Aborts what has not ended otherwise, and closes the connection.
  ~Association();

  T_ASC_Association* get() const;
  /// The subject of the certificate that the other side has shown; empty: none.
  const std::string& certificate_subject() const;
  /// Its SHA-256 in lower case; empty: none.
  const std::string& certificate_sha256() const;
  /// INVALID_ARGUMENT: what the other side has sent that is not legal; every operation fails then.
  const absl::Status& refused() const;
  /// Allows the peer to send one more message of up to 1 MiB. A peer that sends more than it was
  /// allowed is cut off: this node receives commands and keys, never images.
  void AllowMessage();
  /// Ends as the requestor, in good order.
  void Release();
  /// Answers the peer's request of release and waits for it to close.
  void AcknowledgeRelease();
  /// Says that the association has ended by other means.
  void MarkEnded();

 private:
  struct State;
  explicit Association(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isocenter::dicom
