// C-MOVE and C-GET: the archive's files sent to a peer. Source: DICOM PS3.4, C.4.2 and C.4.3.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/assoc.h>
#include <dcmtk/dcmnet/dimse.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicom/net/store_user.h"
#include "server/dicom/scp/retrieve_responder.h"
#include "server/dicom/scp/session.h"

namespace isocenter::dicom {
namespace {

enum class Sent { kCompleted, kWarning, kFailed, kAssociationBroken };

/// `comment` becomes the reason where another node's file cannot be had.
Sent SendInstance(archive::Catalog& catalog, Association& target, const archive::InstanceRow& row,
                  const StoreOptions& options, std::string& comment) {
  if (!row.node.empty()) {
    const absl::Status readable = catalog.CheckFile(row.node, row.file);
    if (!readable.ok()) {
      if (comment.empty()) spdlog::warn("dicom: {}", readable.ToString());
      comment = std::string(readable.message());
      return Sent::kFailed;
    }
  }
  const StoreOutcome outcome = StoreInstance(target, row, options);
  switch (outcome.kind) {
    case StoreOutcome::Kind::kAnswered:
      if (outcome.status == STATUS_Success) return Sent::kCompleted;
      return DICOM_WARNING_STATUS(outcome.status) ? Sent::kWarning : Sent::kFailed;
    case StoreOutcome::Kind::kBroken:
      return Sent::kAssociationBroken;
    case StoreOutcome::Kind::kUnreadable:
      // That a job is deleted meanwhile is nothing to look into.
      if (!absl::IsNotFound(outcome.error)) spdlog::error("dicom: {}", outcome.error.ToString());
      return Sent::kFailed;
    case StoreOutcome::Kind::kNotAccepted:
      return Sent::kFailed;
  }
  return Sent::kFailed;
}

// Both services use the same status codes; those of C-MOVE stand for both.

void Audit(const Session& session, audit::Outcome outcome, const RetrieveCounts& counts,
           std::string detail) {
  const Subjects& subjects = session.subjects;
  session.Audit({.action = audit::Action::kRetrieve,
                 .outcome = outcome,
                 .destination = session.destination,
                 .patient_ids = {subjects.patient_ids.begin(), subjects.patient_ids.end()},
                 .study_uids = {subjects.study_uids.begin(), subjects.study_uids.end()},
                 .instances = static_cast<int64_t>(counts.completed + counts.warning),
                 .failed = static_cast<int64_t>(counts.failed),
                 .detail = std::move(detail)});
}

/// Sends the last response, writes the log, reports and records.
absl::Status Finish(Session& session, NodeOperation operation, const Responder& respond,
                    uint16_t status, const RetrieveCounts& counts, absl::string_view remark) {
  std::unique_ptr<DcmDataset> identifiers;
  if (!counts.failed_uids.empty()) {
    identifiers = std::make_unique<DcmDataset>();
    (void)identifiers->putAndInsertString(DCM_FailedSOPInstanceUIDList, counts.failed_uids.c_str());
  }
  const absl::Status sent = respond(status, counts, identifiers.get());
  const bool cancelled = status == STATUS_MOVE_Cancel_SubOperationsTerminatedDueToCancelIndication;
  const bool succeeded = sent.ok() && status == STATUS_MOVE_Success_SubOperationsCompleteNoFailures;
  const std::string why = absl::StrCat(remark, counts.comment.empty() ? "" : "; ", counts.comment);
  spdlog::log(succeeded || cancelled ? spdlog::level::info : spdlog::level::warn,
              "dicom: C-{} of '{}': status {:04X}, {} sent, {} failed{}",
              absl::AsciiStrToUpper(Name(operation)), session.calling_ae_title, status,
              counts.completed + counts.warning, counts.failed, why);
  Audit(session,
        cancelled   ? audit::Outcome::kCancelled
        : succeeded ? audit::Outcome::kSuccess
                    : audit::Outcome::kFailure,
        counts, absl::StrCat("status ", absl::Hex(status, absl::kZeroPad4), why));
  session.node.Report(operation, succeeded   ? NodeOutcome::kSuccess
                                 : cancelled ? NodeOutcome::kCancelled
                                             : NodeOutcome::kFailure);
  return sent;
}

void Count(Sent sent, const archive::InstanceRow& row, RetrieveCounts& counts) {
  --counts.remaining;
  switch (sent) {
    case Sent::kCompleted:
      ++counts.completed;
      break;
    case Sent::kWarning:
      ++counts.warning;
      break;
    case Sent::kFailed:
    case Sent::kAssociationBroken:
      counts.Fail(row);
      break;
  }
}

/// Of the last response.
uint16_t StatusOf(const RetrieveCounts& counts, bool cancelled, const archive::Gap& gap) {
  if (cancelled) return STATUS_MOVE_Cancel_SubOperationsTerminatedDueToCancelIndication;
  if (counts.failed == 0) {
    return gap.empty() ? STATUS_MOVE_Success_SubOperationsCompleteNoFailures
                       : STATUS_MOVE_Failed_UnableToProcess;
  }
  return counts.completed + counts.warning > 0
             ? STATUS_MOVE_Warning_SubOperationsCompleteOneOrMoreFailures
             : STATUS_MOVE_Refused_OutOfResourcesSubOperations;
}

/// What a retrieval is to send.
struct Wanted {
  std::vector<archive::InstanceRow> instances;
  archive::Gap gap;  // why there may be more
};

/// Sends all instances to `target`, with a pending response after each, and finishes.
absl::Status SendAll(Session& session, NodeOperation operation, const Responder& respond,
                     uint8_t context, uint16_t message_id, Association& target,
                     const std::optional<MoveOriginator>& originator, Compression preferred,
                     const Wanted& wanted) {
  const std::vector<archive::InstanceRow>& instances = wanted.instances;
  RetrieveCounts counts{.remaining = instances.size()};
  T_DIMSE_DetectedCancelParameters cancel = {};
  cancel.presId = context;
  cancel.req.MessageIDBeingRespondedTo = message_id;
  const StoreOptions options{.preferred = preferred,
                             .we_requested = originator.has_value(),
                             .originator = originator,
                             .timeout_seconds = session.idle_seconds(),
                             .cancel = originator.has_value() ? nullptr : &cancel};
  bool cancelled = false, broken = false;
  for (const archive::InstanceRow& row : instances) {
    if (broken) {
      Count(Sent::kFailed, row, counts);
      continue;
    }
    // In a C-GET the cancellation may arrive where the response to a C-STORE is awaited.
    cancelled = cancel.cancelEncountered;
    if (!cancelled) {
      ISO_ASSIGN_OR_RETURN(cancelled, IsCancelled(session, context, message_id));
    }
    if (cancelled) break;
    const Sent sent = SendInstance(session.node.catalog, target, row, options, counts.comment);
    session.node.Report(NodeOperation::kStore, sent == Sent::kCompleted || sent == Sent::kWarning
                                                   ? NodeOutcome::kSuccess
                                                   : NodeOutcome::kFailure);
    Count(sent, row, counts);
    broken = sent == Sent::kAssociationBroken;
    if (broken && !originator.has_value()) {
      Audit(session, audit::Outcome::kFailure, counts, "the association broke");
      return absl::UnavailableError("the association broke during C-GET");
    }
    if (!broken && counts.remaining > 0) {
      ISO_RETURN_IF_ERROR(respond(STATUS_MOVE_Pending_SubOperationsAreContinuing, counts, nullptr));
    }
  }
  if (counts.comment.empty()) counts.comment = wanted.gap;
  return Finish(session, operation, respond, StatusOf(counts, cancelled, wanted.gap), counts,
                broken ? "; the destination broke off" : "");
}

/// Receives the identifier and finds what it means. Without a value, the request has been answered
/// already; errors end the association.
absl::StatusOr<std::optional<Wanted>> ReceiveInstances(Session& session, NodeOperation operation,
                                                       const Responder& respond, uint8_t context,
                                                       const char* sop_class_uid) {
  const absl::StatusOr<Query> query = ReceiveQuery(session, context, sop_class_uid);
  if (!query.ok() && !absl::IsInvalidArgument(query.status())) {
    Audit(session, audit::Outcome::kFailure, RetrieveCounts(), query.status().ToString());
    session.node.Report(operation, NodeOutcome::kFailure);
    return query.status();
  }
  using Instances = absl::StatusOr<std::vector<archive::InstanceRow>>;
  archive::Gap gap;
  Instances instances =
      query.ok() ? query->Instances(session.node.catalog, session.subjects = Subjects(), gap)
                 : Instances(query.status());
  if (instances.ok()) return Wanted{*std::move(instances), gap};
  const bool is_request_wrong = absl::IsInvalidArgument(instances.status());
  // What a request is to find stands in its keys: an error of the archive is logged, a wrong
  // request only counted.
  if (!is_request_wrong)
    spdlog::error("dicom: retrieval failed: {}", instances.status().ToString());
  ISO_RETURN_IF_ERROR(Finish(session, operation, respond,
                             is_request_wrong ? STATUS_MOVE_Error_DataSetDoesNotMatchSOPClass
                                              : STATUS_MOVE_Failed_UnableToProcess,
                             RetrieveCounts(), ""));
  return std::nullopt;
}

}  // namespace

absl::Status ServeMove(Session& session, uint8_t context, const T_DIMSE_C_MoveRQ& request) {
  const Responder respond = ResponderTo(session, context, request);
  session.destination = std::string(absl::StripAsciiWhitespace(request.MoveDestination));
  ISO_ASSIGN_OR_RETURN(const auto wanted, ReceiveInstances(session, NodeOperation::kMove, respond,
                                                           context, request.AffectedSOPClassUID));
  if (!wanted.has_value()) return absl::OkStatus();

  const auto finish = [&](uint16_t status, const RetrieveCounts& counts, absl::string_view remark) {
    return Finish(session, NodeOperation::kMove, respond, status, counts, remark);
  };
  const std::vector<Peer>& peers = session.node.options.peers;
  const auto peer = std::find_if(peers.begin(), peers.end(), [&](const Peer& candidate) {
    return candidate.ae_title == session.destination;
  });
  if (peer == peers.end()) {
    const RetrieveCounts counts{
        .comment = absl::StrCat("'", session.destination, "' is no configured dicom_node.peer")};
    return finish(STATUS_MOVE_Refused_MoveDestinationUnknown, counts, "");
  }
  const std::vector<archive::InstanceRow>& instances = wanted->instances;
  if (instances.empty()) {
    const RetrieveCounts counts{.comment = wanted->gap};
    return finish(StatusOf(counts, /*cancelled=*/false, wanted->gap), counts, "");
  }
  std::set<std::string> classes;
  for (const archive::InstanceRow& row : instances) classes.insert(row.instance.sop_class_uid);
  absl::StatusOr<Association> target = Association::Request(
      *peer, session.node.options, {classes.begin(), classes.end()}, session.interruptor);
  if (!target.ok()) {
    RetrieveCounts counts;
    for (const archive::InstanceRow& row : instances) counts.Fail(row);
    return finish(STATUS_MOVE_Refused_OutOfResourcesSubOperations, counts,
                  absl::StrCat("; ", target.status().message()));
  }
  const absl::Status status = SendAll(
      session, NodeOperation::kMove, respond, context, request.MessageID, *target,
      MoveOriginator{session.calling_ae_title, request.MessageID}, peer->compression, *wanted);
  target->Release();
  return status;
}

absl::Status ServeGet(Session& session, uint8_t context, const T_DIMSE_C_GetRQ& request) {
  const Responder respond = ResponderTo(session, context, request);
  session.destination.clear();
  ISO_ASSIGN_OR_RETURN(const auto wanted, ReceiveInstances(session, NodeOperation::kGet, respond,
                                                           context, request.AffectedSOPClassUID));
  if (!wanted.has_value()) return absl::OkStatus();
  const absl::Status status =
      SendAll(session, NodeOperation::kGet, respond, context, request.MessageID,
              session.association, std::nullopt, Compression::kNone, *wanted);
  if (!status.ok()) session.node.Report(NodeOperation::kGet, NodeOutcome::kFailure);
  return status;
}

}  // namespace isocenter::dicom
