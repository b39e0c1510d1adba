#include "server/daemon/asking.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "absl/time/clock.h"
#include "server/dicom/worklist/worklist.h"

namespace isocenter::daemon {
namespace {

/// The configured peer of this title; there is one.
dicom::Peer PeerOf(const dicom::NodeOptions& node, const std::string& ae_title) {
  for (const dicom::Peer& peer : node.peers) {
    if (peer.ae_title == ae_title) return peer;
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
                                             const dicom::NodeOptions& node,
                                             metrics::Metrics& metrics) {
  if (!config.has_worklist()) return nullptr;
  return std::make_unique<dicom::DicomWorklist>(PeerOf(node, config.worklist().peer()), node,
                                                ObserverOf(metrics, "worklist"));
}

absl::StatusOr<std::unique_ptr<dicom::ProcedureSteps>> StartProcedureSteps(
    const v1::ServerConfig& config, const dicom::NodeOptions& node, archive::Archive& archive,
    const jobs::JobTable& table, metrics::Metrics& metrics) {
  if (!config.dicom_node().has_mpps()) return nullptr;
  return dicom::ProcedureSteps::Start(
      {.peer = PeerOf(node, config.dicom_node().mpps().peer()),
       .node = node,
       .file = std::filesystem::path(config.archive_directory()) / "procedure-steps.sqlite",
       .observer = ObserverOf(metrics, "procedure_step")},
      archive, table);
}

metrics::ProcedureSteps ProcedureStepsState(dicom::ProcedureSteps& steps) {
  using jobs::ProcedureStepState;
  metrics::ProcedureSteps shown;
  const auto length = steps.Count();
  if (!length.ok()) return shown;
  for (const ProcedureStepState state :
       {ProcedureStepState::kBeginning, ProcedureStepState::kInProgress,
        ProcedureStepState::kEnding, ProcedureStepState::kFailed}) {
    const auto count = length->counts.find(state);
    shown.steps.emplace_back(std::string(jobs::Name(state)),
                             count == length->counts.end() ? 0 : count->second);
  }
  if (length->oldest) {
    shown.oldest_seconds = std::max(0.0, absl::ToDoubleSeconds(absl::Now() - *length->oldest));
  }
  return shown;
}

}  // namespace isocenter::daemon
