// What the service asks and tells the information system, as configured.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/archive.h"
#include "server/dicom/worklist/procedure_steps.h"
#include "server/jobs/job_table.h"
#include "server/jobs/worklist.h"
#include "server/metrics/metrics.h"

namespace isocenter::daemon {

/// Null where none is configured. `node`: as this node associates, with its peers. `metrics` must
/// outlive the worklist.
std::unique_ptr<jobs::Worklist> MakeWorklist(const v1::DicomNodeConfig& config,
                                             const dicom::NodeOptions& node,
                                             metrics::Metrics& metrics);

/// Null where nobody is to be told. The queue is in the archive's directory. Everything but
/// `table`, which has been loaded, must outlive the result. Errors: those of ProcedureSteps::Start.
absl::StatusOr<std::unique_ptr<dicom::ProcedureSteps>> StartProcedureSteps(
    const v1::ServerConfig& config, const dicom::NodeOptions& node, archive::Archive& archive,
    const jobs::JobTable& table, metrics::Metrics& metrics);

/// For metrics.
metrics::ProcedureSteps ProcedureStepsState(dicom::ProcedureSteps& steps);

}  // namespace isocenter::daemon
