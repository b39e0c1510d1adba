#include "server/dicom/worklist/worklist.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicom/net/dimse.h"
#include "server/dicom/net/library.h"
#include "server/dicom/worklist/worklist_data.h"

namespace isocenter::dicom {
namespace {

/// Whole seconds until then, at least one: DCMTK waits for each message by these.
int SecondsUntil(absl::Time deadline) {
  return std::max(1, static_cast<int>(std::ceil(absl::ToDoubleSeconds(deadline - absl::Now()))));
}

/// What the answers to one question are collected in.
struct Collection {
  Association& association;
  T_ASC_PresentationContextID context;
  absl::Time deadline;
  size_t limit;
  jobs::WorklistAnswer answer;
  bool cancelled = false;
};

/// DCMTK calls it for every pending response.
void OnAnswer(void* data, T_DIMSE_C_FindRQ* request, int, T_DIMSE_C_FindRSP*,
              DcmDataset* identifiers) {
  Collection& collection = *static_cast<Collection*>(data);
  collection.association.AllowMessage();
  if (collection.cancelled || identifiers == nullptr) return;
  for (jobs::ScheduledStep& step : ScheduledSteps(*identifiers)) {
    if (collection.answer.steps.size() == collection.limit) {
      collection.answer.truncated = true;
      break;
    }
    collection.answer.steps.push_back(std::move(step));
  }
  if (!collection.answer.truncated && absl::Now() < collection.deadline) return;
  collection.cancelled = true;
  (void)DIMSE_sendCancelRequest(collection.association.get(), collection.context,
                                request->MessageID);
}

}  // namespace

DicomWorklist::DicomWorklist(Peer peer, NodeOptions options, WorklistObserver observer)
    : peer_(std::move(peer)), options_(std::move(options)), observer_(std::move(observer)) {
  ConfigureLibrary();
}

absl::StatusOr<jobs::WorklistAnswer> DicomWorklist::Find(const jobs::WorklistQuery& query,
                                                         absl::Time deadline) {
  const absl::Time begin = absl::Now();
  absl::StatusOr<jobs::WorklistAnswer> answer = Ask(query, deadline);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  if (answer.ok()) {
    spdlog::info("dicom: worklist of '{}': {} steps in {:.3f} s", peer_.ae_title,
                 answer->steps.size(), seconds);
  } else {
    spdlog::warn("dicom: worklist of '{}': {} after {:.3f} s", peer_.ae_title,
                 answer.status().ToString(), seconds);
  }
  if (observer_) observer_(answer.ok() ? NodeOutcome::kSuccess : NodeOutcome::kFailure);
  return answer;
}

absl::StatusOr<jobs::WorklistAnswer> DicomWorklist::Ask(const jobs::WorklistQuery& query,
                                                        absl::Time deadline) {
  ISO_ASSIGN_OR_RETURN(
      Association association,
      Association::Request(peer_, options_, {UID_FINDModalityWorklistInformationModel},
                           interruptor_));
  T_ASC_Association* const raw = association.get();
  Collection collection{.association = association,
                        .context = ASC_findAcceptedPresentationContextID(
                            raw, UID_FINDModalityWorklistInformationModel),
                        .deadline = deadline,
                        .limit = static_cast<size_t>(std::max(1, query.limit))};
  if (collection.context == 0) {
    association.Release();
    return absl::UnavailableError(absl::StrCat(peer_.ae_title, " offers no modality worklist"));
  }
  T_DIMSE_C_FindRQ request = {};
  request.MessageID = raw->nextMsgID++;
  Copy(UID_FINDModalityWorklistInformationModel, request.AffectedSOPClassUID);
  request.Priority = DIMSE_PRIORITY_MEDIUM;
  request.DataSetType = DIMSE_DATASET_PRESENT;
  const std::unique_ptr<DcmDataset> keys = WorklistKeys(query);
  T_DIMSE_C_FindRSP response = {};
  DcmDataset* detail = nullptr;
  int responses = 0;
  const OFCondition condition =
      DIMSE_findUser(raw, collection.context, &request, keys.get(), responses, OnAnswer,
                     &collection, DIMSE_NONBLOCKING, SecondsUntil(deadline), &response, &detail);
  delete detail;
  if (condition == DIMSE_NODATAAVAILABLE) {
    return absl::DeadlineExceededError(absl::StrCat(peer_.ae_title, " did not answer in time"));
  }
  if (condition.bad()) {
    return absl::UnavailableError(absl::StrCat(
        peer_.ae_title, " broke the connection: ", ToStatus(association, condition).message()));
  }
  association.Release();
  const bool complete = response.DimseStatus == STATUS_FIND_Success_MatchingIsComplete;
  if (!complete && collection.cancelled && !collection.answer.truncated) {
    return absl::DeadlineExceededError(absl::StrCat(peer_.ae_title, " did not answer in time"));
  }
  if (!complete && !collection.cancelled) {
    return absl::UnavailableError(
        absl::StrFormat("%s failed with status %04x", peer_.ae_title, response.DimseStatus));
  }
  return std::move(collection.answer);
}

}  // namespace isocenter::dicom
