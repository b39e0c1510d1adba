// The gRPC endpoint.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/audit/event.h"
#include "server/calibrations/store.h"
#include "server/config/protocol_book.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/jobs/procedure_steps.h"
#include "server/jobs/worklist.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/quality/store.h"
#include "server/replicas/replica_store.h"
#include "server/roles/roster.h"

namespace isocenter::rpc {

/// What the services can do without. Null: it is not there.
struct Partners {
  jobs::Worklist* worklist = nullptr;
  audit::Recorder* audit = nullptr;             // of calls
  archive::TransferQueue* transfers = nullptr;  // of what is sent to other nodes
  node::Node* node = nullptr;
  const roles::Roster* roster = nullptr;  // who may call what; null: whoever reaches the server
  jobs::ProcedureStepControl* procedure_steps = nullptr;
  calibrations::Store* calibrations = nullptr;  // the engine's
  quality_records::Store* quality = nullptr;
  replicas::ReplicaStore* replicas = nullptr;  // of other nodes' frames
  /// Told of calls and connections beyond what one caller may take, by the name of the limit. From
  /// any thread; may be empty.
  std::function<void(absl::string_view limit)> on_caller_refused;
  std::function<absl::Time()> clock = absl::Now;  // but for deadlines of calls, which are gRPC's
};

/// All services, the standard health service and reflection on one port. gRPC's own threads run
/// them, whose number does not depend on the number of clients.
class Server {
 public:
  /// Starts to serve. `config` has its defaults. Everything else must outlive the server. Errors:
  /// NOT_FOUND (a TLS file), INVALID_ARGUMENT (its content), UNAVAILABLE (the address cannot be
  /// listened on).
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const v1::ServerConfig& config, const config::ProtocolBook& protocols, jobs::JobTable& table,
      pipeline::Engine& engine, jobs::ResultStore& results, jobs::JobObserver& observer,
      const Partners& partners = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// host:port with the port that was chosen.
  const std::string& address() const;

  /// What the health service says of acquisitions, and of the server as a whole (the empty name);
  /// serving at first. The other services serve as long as they answer.
  void SetReady(bool ready);
  /// Reads the files of grpc_tls again, with which it was started: for connections that come from
  /// then on. Errors: NOT_FOUND, INVALID_ARGUMENT; what was read before stays.
  absl::Status ReadCertificates();
  /// Health becomes NOT_SERVING for all and stays so; calls go on.
  void StopServing();
  /// Ends all calls, cancelling those that last until `deadline`.
  void Shutdown(absl::Time deadline);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace isocenter::rpc
