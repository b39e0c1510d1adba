#include "server/daemon/asking.h"

#include <filesystem>
#include <string>

#include "server/dicom/worklist.h"

namespace isocenter::daemon {
namespace {

/// The configured peer of this title; there is one.
dicom::Peer PeerOf(const v1::DicomNodeConfig& config, const std::string& ae_title) {
  for (const v1::DicomPeer& peer : config.peer()) {
    if (peer.ae_title() == ae_title) {
      return {.ae_title = ae_title, .host = peer.host(), .port = static_cast<int>(peer.port())};
    }
  }
  return {.ae_title = ae_title};
}

auto ObserverOf(metrics::Metrics& metrics, const char* operation) {
  return [&metrics, operation](dicom::NodeOutcome outcome) {
    metrics.OnDicomOperation(operation, dicom::Name(outcome));
  };
}

}  // namespace

std::unique_ptr<jobs::Worklist> MakeWorklist(const v1::DicomNodeConfig& config,
                                             metrics::Metrics& metrics) {
  if (!config.has_worklist()) return nullptr;
  return std::make_unique<dicom::DicomWorklist>(PeerOf(config, config.worklist().peer()),
                                                dicom::NodeOptions{.ae_title = config.ae_title()},
                                                ObserverOf(metrics, "worklist"));
}

absl::StatusOr<std::unique_ptr<dicom::ProcedureSteps>> StartProcedureSteps(
    const v1::ServerConfig& config, archive::Archive& archive, const jobs::JobTable& table,
    metrics::Metrics& metrics) {
  const v1::DicomNodeConfig& node = config.dicom_node();
  if (!node.has_mpps()) return nullptr;
  return dicom::ProcedureSteps::Start(
      {.peer = PeerOf(node, node.mpps().peer()),
       .node = {.ae_title = node.ae_title()},
       .file = std::filesystem::path(config.archive_directory()) / "procedure-steps.sqlite",
       .observer = ObserverOf(metrics, "procedure_step")},
      archive, table);
}

}  // namespace isocenter::daemon
