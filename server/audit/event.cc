#include "server/audit/event.h"

namespace isocenter::audit {

absl::string_view Name(Action action) {
  switch (action) {
    case Action::kServiceStart:
      return "service_start";
    case Action::kServiceStop:
      return "service_stop";
    case Action::kAssociate:
      return "associate";
    case Action::kQuery:
      return "query";
    case Action::kRetrieve:
      return "retrieve";
    case Action::kAcquire:
      return "acquire";
    case Action::kRefine:
      return "refine";
    case Action::kCancel:
      return "cancel";
    case Action::kDelete:
      return "delete";
    case Action::kDownload:
      return "download";
  }
  return "unknown";
}

absl::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess:
      return "success";
    case Outcome::kFailure:
      return "failure";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace isocenter::audit
