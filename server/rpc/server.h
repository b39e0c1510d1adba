// The gRPC endpoint.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/config/protocol_book.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/jobs/procedure_steps.h"
#include "server/jobs/worklist.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/rpc/acquisition_service.h"
#include "server/rpc/guard.h"
#include "server/rpc/job_service.h"
#include "server/rpc/node_service.h"
#include "server/rpc/procedure_step_service.h"
#include "server/rpc/protocol_service.h"
#include "server/rpc/transfer_service.h"
#include "server/rpc/worklist_service.h"

namespace isocenter::rpc {

/// What the services can do without. Null: it is not there.
struct Partners {
  jobs::Worklist* worklist = nullptr;
  audit::Recorder* audit = nullptr;             // of calls
  archive::TransferQueue* transfers = nullptr;  // of what is sent to other nodes
  node::Node* node = nullptr;
  const roles::Roster* roster = nullptr;  // who may call what; null: whoever reaches the server
  jobs::ProcedureStepControl* procedure_steps = nullptr;
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

  /// host:port with the port that was chosen.
  const std::string& address() const { return address_; }

  /// What the health service says of acquisitions, and of the server as a whole (the empty name);
  /// serving at first. The other services serve as long as they answer.
  void SetReady(bool ready);
  /// Health becomes NOT_SERVING for all and stays so; calls go on.
  void StopServing();
  /// Ends all calls, cancelling those that last until `deadline`.
  void Shutdown(absl::Time deadline);

 private:
  Server(const v1::ServerConfig& config, const config::ProtocolBook& protocols,
         jobs::JobTable& table, pipeline::Engine& engine, jobs::ResultStore& results,
         jobs::JobObserver& observer, const Partners& partners);

  struct NamedService {
    const char* name;  // with its package, as health and reflection know it
    grpc::Service* service;
  };
  /// All that are served.
  std::vector<NamedService> Services();

  const v1::ClusterConfig cluster_;
  const Guard guard_;
  AcquisitionContext context_;
  AcquisitionService acquisitions_;
  JobService jobs_;
  ProtocolService protocols_;
  WorklistService worklist_;
  TransferService transfers_;
  ProcedureStepService procedure_steps_;
  std::unique_ptr<NodeService> node_;  // null: there is none
  std::string address_;
  absl::Mutex health_mutex_;
  bool stopped_serving_ ABSL_GUARDED_BY(health_mutex_) = false;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace isocenter::rpc
