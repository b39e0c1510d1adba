#include "server/jobs/procedure_steps.h"

namespace isocenter::jobs {

absl::string_view Name(ProcedureStepState state) {
  switch (state) {
    case ProcedureStepState::kBeginning:
      return "beginning";
    case ProcedureStepState::kInProgress:
      return "in_progress";
    case ProcedureStepState::kEnding:
      return "ending";
    case ProcedureStepState::kDone:
      return "done";
    case ProcedureStepState::kFailed:
      return "failed";
    case ProcedureStepState::kDropped:
      return "dropped";
  }
  return "unknown";
}

}  // namespace isocenter::jobs
