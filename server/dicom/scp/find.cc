// C-FIND: queries over the archive's index. Source: DICOM PS3.4, C.4.1.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/log.h"
#include "server/dicom/net/dimse.h"
#include "server/dicom/scp/response.h"
#include "server/dicom/scp/session.h"

namespace isocenter::dicom {
namespace {

absl::Status Respond(Session& session, uint8_t context, const T_DIMSE_C_FindRQ& request,
                     uint16_t status, DcmDataset* identifiers, const std::string& comment = "") {
  const std::unique_ptr<DcmDataset> detail = ErrorComment(comment);
  auto response = ResponseTo<T_DIMSE_C_FindRSP>(request, status, identifiers);
  response.opts = O_FIND_AFFECTEDSOPCLASSUID;
  return ToStatus(session.association,
                  DIMSE_sendFindResponse(session.association.get(), context, &request, &response,
                                         identifiers, detail.get()));
}

DcmTagKey KeyOf(uint64_t tag) {
  return {static_cast<Uint16>(tag >> 16 & 0xffff), static_cast<Uint16>(tag & 0xffff)};
}

void Insert(DcmItem& item, DcmTagKey key, const std::string& value) {
  if (value.empty()) {
    (void)item.insertEmptyElement(key);
  } else {
    (void)item.putAndInsertString(key, value.c_str());
  }
}

void Insert(DcmDataset& dataset, TagPath tag, const std::string& value) {
  const uint64_t sequence = tag >> 32;
  if (sequence == 0) return Insert(dataset, KeyOf(tag), value);
  // Attributes of a sequence that an entity does not have leave the sequence empty.
  (void)dataset.insertEmptyElement(KeyOf(sequence), /*replaceOld=*/OFFalse);
  if (value.empty()) return;
  DcmItem* item = nullptr;
  if (dataset.findOrCreateSequenceItem(KeyOf(sequence), item, 0).good()) {
    Insert(*item, KeyOf(tag), value);
  }
}

absl::Status TooMany(bool exhausted, int matches) {
  if (!exhausted) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("more than ", matches, " matches; legal is max_find_matches"));
}

void AuditQuery(const Session& session, const Query& query, int matches, bool cancelled,
                const absl::Status& status) {
  audit::Event event{.action = audit::Action::kQuery, .matches = matches};
  event.outcome = cancelled     ? audit::Outcome::kCancelled
                  : status.ok() ? audit::Outcome::kSuccess
                                : audit::Outcome::kFailure;
  if (!status.ok()) event.detail = status.ToString();
  for (const auto& [tag, value] : query.keys()) {
    if (value.empty()) continue;
    event.query.push_back(
        absl::StrFormat("(%04x,%04x)=%s", tag >> 16 & 0xffff, tag & 0xffff, value));
  }
  session.Audit(std::move(event));
}

}  // namespace

absl::Status ServeFind(Session& session, uint8_t context, const T_DIMSE_C_FindRQ& request) {
  const absl::StatusOr<Query> query = ReceiveQuery(session, context, request.AffectedSOPClassUID);
  if (!query.ok()) {
    session.Audit({.action = audit::Action::kQuery,
                   .outcome = absl::IsInvalidArgument(query.status()) ? audit::Outcome::kRefused
                                                                      : audit::Outcome::kFailure,
                   .detail = query.status().ToString()});
  }
  if (absl::IsInvalidArgument(query.status())) {
    session.node.Report(NodeOperation::kFind, NodeOutcome::kFailure);
    return Respond(session, context, request, STATUS_FIND_Error_DataSetDoesNotMatchSOPClass,
                   nullptr);
  }
  if (!query.ok()) {
    session.node.Report(NodeOperation::kFind, NodeOutcome::kFailure);
    return query.status();
  }
  const uint16_t pending = query->has_unsupported_keys()
                               ? STATUS_FIND_Pending_WarningUnsupportedOptionalKeys
                               : STATUS_FIND_Pending_MatchesAreContinuing;
  bool cancelled = false, exhausted = false;
  int matches = 0;
  absl::Status sent;
  archive::Gap gap;
  absl::Status searched = query->ForEachMatch(
      session.node.catalog, session.node.options.ae_title,
      [&](const KeyValues& values) {
        const absl::StatusOr<bool> asked = IsCancelled(session, context, request.MessageID);
        sent = asked.status();
        if (!sent.ok() || (cancelled = *asked)) return false;
        if ((exhausted = matches == session.node.options.max_find_matches)) return false;
        DcmDataset answer;
        for (const auto& [tag, value] : values) Insert(answer, tag, value);
        sent = Respond(session, context, request, pending, &answer);
        ++matches;
        return sent.ok();
      },
      gap);
  // C-FIND knows no status for matches that are not all: only a failure keeps them from being taken
  // for all.
  if (searched.ok() && !gap.empty()) searched = absl::UnavailableError(gap);
  if (sent.ok()) {
    sent = Respond(session, context, request,
                   cancelled       ? STATUS_FIND_Cancel_MatchingTerminatedDueToCancelRequest
                   : exhausted     ? STATUS_FIND_Refused_OutOfResources
                   : searched.ok() ? STATUS_FIND_Success_MatchingIsComplete
                                   : STATUS_FIND_Failed_UnableToProcess,
                   nullptr, cancelled || exhausted ? "" : gap);
  }
  if (!searched.ok() && gap.empty()) {
    spdlog::error("dicom: C-FIND failed: {}", searched.ToString());
  }
  spdlog::info("dicom: C-FIND of '{}': {} matches{}", session.calling_ae_title, matches,
               cancelled      ? ", cancelled"
               : exhausted    ? ", more are not sent: max_find_matches"
               : !gap.empty() ? absl::StrCat(", more are not known: ", gap)
                              : "");
  AuditQuery(session, *query, matches, cancelled,
             !sent.ok()       ? sent
             : !searched.ok() ? searched
                              : TooMany(exhausted, matches));
  const bool failed = !sent.ok() || !searched.ok() || exhausted;
  session.node.Report(NodeOperation::kFind, failed      ? NodeOutcome::kFailure
                                            : cancelled ? NodeOutcome::kCancelled
                                                        : NodeOutcome::kSuccess);
  return sent;
}

}  // namespace isocenter::dicom
