// The whole service in one process.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/daemon/certificates/certificate_renewal.h"
#include "server/daemon/certificates/certificate_watch.h"
#include "server/daemon/configuration.h"
#include "server/jobs/job_table.h"

namespace isocenter::archive {
class Archive;
class Catalog;
}  // namespace isocenter::archive
namespace isocenter::audit {
class Recorder;
class Trail;
}  // namespace isocenter::audit
namespace isocenter::calibrations {
class Store;
}
namespace isocenter::cluster_index {
class ClusterIndex;
}
namespace isocenter::dicom {
class Node;
class ProcedureSteps;
class Sender;
}  // namespace isocenter::dicom
namespace isocenter::jobs {
class FrameSpool;
class ResultStore;
class Worklist;
}  // namespace isocenter::jobs
namespace isocenter::metrics {
class Metrics;
struct ReplicationState;
struct Sources;
}  // namespace isocenter::metrics
namespace isocenter::node {
class Activity;
class JobFeed;
class Monitor;
class Node;
struct NodeOptions;
struct Replication;
}  // namespace isocenter::node
namespace isocenter::quality_records {
class Store;
}
namespace isocenter::replicas {
class Keeper;
class ReplicaStore;
class ReplicatedSpool;
class Takeover;
}  // namespace isocenter::replicas
namespace isocenter::rpc {
class PeerWatch;
class Server;
}  // namespace isocenter::rpc
namespace isocenter::scheduler {
class Scheduler;
}
namespace isocenter::spool {
class Spool;
}
namespace isocenter::traces {
class Exporter;
}
namespace isocenter::viewer {
class VolumeCache;
}
namespace isocenter::http {
class QueuedTransfers;
class Refiner;
class WebServer;
}  // namespace isocenter::http

namespace isocenter::daemon {

class Observer;
class SimulatedScans;
struct Slots;

/// Where a service is reached: host:port with the port that was chosen, or "off".
struct Addresses {
  std::string grpc, metrics, web;
  std::string dicom;  // that of TLS, where there is one, as ",host:port/tls" after the other
};

/// Thread-safe.
class Service {
 public:
  /// Serves when it returns, and goes on with what an earlier run has left. `no_device_left` is
  /// called once, from any thread, when the last device is lost: only a new process can use devices
  /// again. Errors: those of the rooms; UNAVAILABLE: an address that cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Service>> Start(Configuration configuration,
                                                        std::function<void()> no_device_left);
  /// In the reverse order of the start. What is active goes on with the next start.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  const Addresses& addresses() const { return addresses_; }
  bool no_device_left() const { return no_device_left_; }
  /// Returns at once, unless a lock is never released.
  void CheckLocks() const;
  /// Uses certificates whose files have been replaced, and has the log say so, and which have ended
  /// or will soon, when it is time to. By one thread.
  void LookAtCertificates(absl::Time now);

  /// Takes nothing new, lets what is active end for as long as is configured, and stops serving.
  /// Once. Errors: that of a lost device, where none is left; then nothing is waited for.
  absl::Status Drain();

 private:
  Service(Configuration configuration, std::function<void()> on_no_device_left);

  // The start, in this order. Each part needs those before it.
  absl::Status OpenDevices();
  absl::Status OpenStores();
  absl::Status OpenCatalog();
  absl::Status OpenReplicas();
  absl::Status TakeUpJobs();
  absl::Status OpenKeeper();
  absl::Status StartEngine();
  absl::Status StartSender();
  absl::Status ServeMetrics();
  absl::Status ServeGrpc();
  absl::Status ServeDicom();
  absl::Status ServeWeb();
  void StartTakeover();
  void WatchCertificates();
  void SetStarted();

  /// What queries and retrievals ask.
  archive::Catalog& Catalog() const;
  /// Where jobs keep their frames.
  jobs::FrameSpool& Frames() const;
  metrics::Sources MetricSources() const;
  metrics::ReplicationState Replication() const;
  /// The same, as other nodes and operators see it. Nothing: there are no copies.
  std::optional<node::Replication> ReplicationShown() const;
  node::NodeOptions NodeOptions() const;

  // In the order of construction: each may use those above it, and goes before them.
  Configuration configuration_;
  const std::function<void()> on_no_device_left_;
  std::atomic<bool> no_device_left_{false};
  std::atomic<int64_t> taken_over_{0};  // jobs of lost nodes
  Addresses addresses_{.grpc = "off", .metrics = "off", .web = "off", .dicom = "off"};
  std::unique_ptr<Slots> devices_;  // its slots are the scheduler's
  std::unique_ptr<CertificateWatch> certificates_;
  std::unique_ptr<audit::Trail> audit_;
  std::unique_ptr<metrics::Metrics> metrics_;
  std::unique_ptr<node::Activity> activity_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<cluster_index::ClusterIndex> shared_index_;  // null: none is configured
  std::unique_ptr<archive::Catalog> own_catalog_;              // null: there is a shared one
  std::unique_ptr<jobs::ResultStore> results_;
  std::unique_ptr<calibrations::Store> calibrations_;
  std::unique_ptr<quality_records::Store> quality_;
  std::unique_ptr<spool::Spool> spool_;
  std::unique_ptr<replicas::ReplicaStore> replicas_;  // of other nodes' frames; null: none are kept
  std::unique_ptr<traces::Exporter> traces_;          // null: none are wanted
  std::unique_ptr<jobs::JobTable> table_;
  std::unique_ptr<jobs::Worklist> worklist_;                // null: none is configured
  std::unique_ptr<dicom::ProcedureSteps> procedure_steps_;  // null: nobody is to be told
  std::unique_ptr<replicas::Keeper> keeper_;  // of this node's frames; null: nobody keeps copies
  std::unique_ptr<replicas::ReplicatedSpool> replicated_spool_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<pipeline::Engine> engine_;
  std::unique_ptr<rpc::PeerWatch> peers_;
  std::unique_ptr<node::Node> node_;
  std::unique_ptr<node::JobFeed> feed_;
  std::unique_ptr<audit::Recorder> sent_;         // of what the sender sends
  std::unique_ptr<audit::Recorder> traced_sent_;  // before it; null: no traces are wanted
  std::unique_ptr<dicom::Sender> sender_;
  std::unique_ptr<rpc::Server> grpc_;
  std::unique_ptr<dicom::Node> dicom_node_;       // null: disabled
  std::shared_ptr<viewer::VolumeCache> volumes_;  // null without the web; a deletion may hold it
  jobs::JobTable::Subscription deletions_;
  std::unique_ptr<http::QueuedTransfers> transfers_;  // null: no destination is configured
  std::unique_ptr<http::Refiner> refiner_;            // null without the web
  std::unique_ptr<SimulatedScans> simulated_scans_;   // null: not allowed
  std::unique_ptr<http::WebServer> web_;              // null: disabled
  std::unique_ptr<replicas::Takeover> takeover_;      // null: no copies are kept
  std::unique_ptr<node::Monitor> monitor_;
  std::unique_ptr<CertificateRenewal> renewal_;
};

}  // namespace isocenter::daemon
