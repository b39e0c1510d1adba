#include "server/dicom/scp/session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicom/net/commitment_report.h"
#include "server/dicom/net/dimse.h"
#include "server/dicom/net/store_contexts.h"
#include "server/dicom/net/tls.h"
#include "server/dicom/scp/identifier.h"

namespace isocenter::dicom {
namespace {

constexpr std::array kQueryServices = {UID_FINDPatientRootQueryRetrieveInformationModel,
                                       UID_FINDStudyRootQueryRetrieveInformationModel,
                                       UID_MOVEPatientRootQueryRetrieveInformationModel,
                                       UID_MOVEStudyRootQueryRetrieveInformationModel,
                                       UID_GETPatientRootQueryRetrieveInformationModel,
                                       UID_GETStudyRootQueryRetrieveInformationModel};

bool IsQueryService(const char* uid) {
  return std::any_of(kQueryServices.begin(), kQueryServices.end(),
                     [&](const char* service) { return std::strcmp(service, uid) == 0; });
}

QueryRoot RootOf(const char* sop_class_uid) {
  const std::string uid = sop_class_uid;
  const bool patient = uid == UID_FINDPatientRootQueryRetrieveInformationModel ||
                       uid == UID_MOVEPatientRootQueryRetrieveInformationModel ||
                       uid == UID_GETPatientRootQueryRetrieveInformationModel;
  return patient ? QueryRoot::kPatient : QueryRoot::kStudy;
}

/// The transfer syntax we take of those that the peer proposes, or null.
const char* ChooseTransferSyntax(const T_ASC_PresentationContext& context) {
  for (const char* ours :
       {UID_LittleEndianExplicitTransferSyntax, UID_LittleEndianImplicitTransferSyntax}) {
    for (int i = 0; i < context.transferSyntaxCount; ++i) {
      if (std::strcmp(context.proposedTransferSyntaxes[i], ours) == 0) return ours;
    }
  }
  return nullptr;
}

/// Accepts the services of this node, and images in the one direction that C-GET needs: from us.
OFCondition NegotiateContext(T_ASC_Parameters* parameters,
                             const T_ASC_PresentationContext& context) {
  const bool reports_commitment =
      std::strcmp(context.abstractSyntax, UID_StorageCommitmentPushModelSOPClass) == 0;
  const bool is_image = IsStorageClass(context.abstractSyntax);
  const bool is_service = std::strcmp(context.abstractSyntax, UID_VerificationSOPClass) == 0 ||
                          IsQueryService(context.abstractSyntax) || reports_commitment;
  const bool peer_receives =
      context.proposedRole == ASC_SC_ROLE_SCP || context.proposedRole == ASC_SC_ROLE_SCUSCP;
  if (!is_service && !(is_image && peer_receives)) {
    return ASC_refusePresentationContext(parameters, context.presentationContextID,
                                         ASC_P_ABSTRACTSYNTAXNOTSUPPORTED);
  }
  const char* transfer_syntax =
      is_image ? ChooseStoreTransferSyntax(context) : ChooseTransferSyntax(context);
  if (transfer_syntax == nullptr) {
    return ASC_refusePresentationContext(parameters, context.presentationContextID,
                                         ASC_P_TRANSFERSYNTAXESNOTSUPPORTED);
  }
  return ASC_acceptPresentationContext(
      parameters, context.presentationContextID, transfer_syntax,
      is_image || (reports_commitment && peer_receives) ? ASC_SC_ROLE_SCP : ASC_SC_ROLE_DEFAULT);
}

OFCondition NegotiateContexts(T_ASC_Parameters* parameters) {
  const int count = ASC_countPresentationContexts(parameters);
  for (int i = 0; i < count; ++i) {
    T_ASC_PresentationContext context;
    OFCondition condition = ASC_getPresentationContext(parameters, i, &context);
    if (condition.good()) condition = NegotiateContext(parameters, context);
    if (condition.bad()) return condition;
  }
  return EC_Normal;
}

/// Without padding; and since it goes to the log, without what is not printable ASCII.
std::string CleanAeTitle(const char* ae_title) {
  std::string clean(absl::StripAsciiWhitespace(ae_title));
  for (char& c : clean) {
    if (!absl::ascii_isprint(c)) c = '?';
  }
  return clean;
}

void Reject(Session& session, T_ASC_RejectParametersResult result,
            T_ASC_RejectParametersSource source, T_ASC_RejectParametersReason reason,
            absl::string_view why) {
  const T_ASC_RejectParameters parameters = {result, source, reason};
  ASC_rejectAssociation(session.association.get(), &parameters);
  session.association.MarkEnded();
  session.node.Report(NodeOperation::kAssociation, NodeOutcome::kRejected);
  spdlog::warn("dicom: rejected an association of '{}' at {}: {}", session.calling_ae_title,
               session.address, std::string(why));
  session.Audit({.action = audit::Action::kAssociate,
                 .outcome = audit::Outcome::kRefused,
                 .detail = std::string(why)});
}

std::string CallingAeTitle(const Session& session) {
  char calling[DUL_LEN_TITLE + 1] = {};
  ASC_getAPTitles(session.association.get()->params, calling, sizeof calling, nullptr, 0, nullptr,
                  0);
  return CleanAeTitle(calling);
}

/// Where its AE title is that of a peer, whether it comes from the peer's address, or has the
/// certificate that the peer must have. Of others nothing is known.
bool IsWhoItSays(const Session& session) {
  const std::vector<Peer>& peers = session.node.options.peers;
  const auto peer = std::ranges::find(peers, session.calling_ae_title, &Peer::ae_title);
  if (peer == peers.end()) return true;
  const std::string certificate = peer->tls == nullptr ? "" : peer->tls->certificate_sha256();
  return (!certificate.empty() && certificate == session.association.certificate_sha256()) ||
         session.node.peer_addresses.Contain(peer->ae_title, session.address);
}

/// Whether the association was accepted.
bool Negotiate(Session& session, const std::string& refusal, bool caller_has_place) {
  const NodeOptions& options = session.node.options;
  T_ASC_Parameters* const parameters = session.association.get()->params;
  char called[DUL_LEN_TITLE + 1] = {};
  ASC_getAPTitles(parameters, nullptr, 0, called, sizeof called, nullptr, 0);

  if (!refusal.empty()) {
    Reject(session, ASC_RESULT_REJECTEDTRANSIENT, ASC_SOURCE_SERVICEPROVIDER_PRESENTATION_RELATED,
           ASC_REASON_SP_PRES_LOCALLIMITEXCEEDED, refusal);
    return false;
  }
  if (!IsAllowed(options.allowed_callers, session.calling_ae_title, session.address,
                 [&] { return IsWhoItSays(session); })) {
    Reject(session, ASC_RESULT_REJECTEDPERMANENT, ASC_SOURCE_SERVICEUSER,
           ASC_REASON_SU_CALLINGAETITLENOTRECOGNIZED,
           IsWhoItSays(session)
               ? "it is no allowed caller"
               : "it is no allowed caller: the peer of this AE title is elsewhere");
    return false;
  }
  if (!caller_has_place) {
    Reject(session, ASC_RESULT_REJECTEDTRANSIENT, ASC_SOURCE_SERVICEPROVIDER_PRESENTATION_RELATED,
           ASC_REASON_SP_PRES_LOCALLIMITEXCEEDED,
           absl::StrCat("its ", options.max_associations_per_caller, " associations are in use"));
    return false;
  }
  char application[DUL_LEN_NAME + 1] = {};
  if (ASC_getApplicationContextName(parameters, application, sizeof application).bad() ||
      std::strcmp(application, UID_StandardApplicationContext) != 0) {
    Reject(session, ASC_RESULT_REJECTEDPERMANENT, ASC_SOURCE_SERVICEUSER,
           ASC_REASON_SU_APPCONTEXTNAMENOTSUPPORTED, "unknown application context");
    return false;
  }
  if (options.check_called_ae_title && CleanAeTitle(called) != options.ae_title) {
    Reject(session, ASC_RESULT_REJECTEDPERMANENT, ASC_SOURCE_SERVICEUSER,
           ASC_REASON_SU_CALLEDAETITLENOTRECOGNIZED,
           absl::StrCat("it calls '", CleanAeTitle(called), "', this node is '", options.ae_title,
                        "'"));
    return false;
  }
  OFCondition condition = NegotiateContexts(parameters);
  if (condition.good() && ASC_countAcceptedPresentationContexts(parameters) == 0) {
    Reject(session, ASC_RESULT_REJECTEDPERMANENT, ASC_SOURCE_SERVICEUSER, ASC_REASON_SU_NOREASON,
           "none of its presentation contexts is supported");
    return false;
  }
  if (condition.good()) condition = ASC_acknowledgeAssociation(session.association.get());
  if (condition.bad()) {
    session.node.Report(NodeOperation::kAssociation, NodeOutcome::kFailure);
    spdlog::warn("dicom: cannot accept an association of '{}': {}", session.calling_ae_title,
                 condition.text());
    return false;
  }
  return true;
}

absl::Status ServeEcho(Session& session, uint8_t context, const T_DIMSE_C_EchoRQ& request) {
  const absl::Status sent =
      ToStatus(session.association, DIMSE_sendEchoResponse(session.association.get(), context,
                                                           &request, STATUS_Success, nullptr));
  session.node.Report(NodeOperation::kEcho,
                      sent.ok() ? NodeOutcome::kSuccess : NodeOutcome::kFailure);
  return sent;
}

/// A report of storage commitment on an association that the other side has opened.
absl::Status ServeReport(Session& session, uint8_t context,
                         const T_DIMSE_N_EventReportRQ& request) {
  const absl::Status status =
      ReceiveReport(session.association, context, request, session.node.archive.transfers(),
                    session.idle_seconds());
  session.node.Report(NodeOperation::kCommitment,
                      status.ok() ? NodeOutcome::kSuccess : NodeOutcome::kFailure);
  return status;
}

absl::Status Dispatch(Session& session, uint8_t context, const T_DIMSE_Message& message) {
  switch (message.CommandField) {
    case DIMSE_C_ECHO_RQ:
      return ServeEcho(session, context, message.msg.CEchoRQ);
    case DIMSE_C_FIND_RQ:
      return ServeFind(session, context, message.msg.CFindRQ);
    case DIMSE_C_MOVE_RQ:
      return ServeMove(session, context, message.msg.CMoveRQ);
    case DIMSE_C_GET_RQ:
      return ServeGet(session, context, message.msg.CGetRQ);
    case DIMSE_N_EVENT_REPORT_RQ:
      return ServeReport(session, context, message.msg.NEventReportRQ);
    case DIMSE_C_CANCEL_RQ:
      return absl::OkStatus();  // of a request that was finished meanwhile
    default:
      return absl::UnimplementedError(
          absl::StrCat("command 0x", absl::Hex(static_cast<int>(message.CommandField))));
  }
}

/// Serves requests until the association ends. OK when it was released.
absl::Status ServeRequests(Session& session) {
  while (true) {
    session.association.AllowMessage();
    Command command;
    const OFCondition condition =
        ReceiveCommand(session.association, session.idle_seconds(), command);
    if (condition == DUL_PEERREQUESTEDRELEASE) {
      session.association.AcknowledgeRelease();
      return absl::OkStatus();
    }
    if (condition == DIMSE_NODATAAVAILABLE) {
      return absl::DeadlineExceededError(absl::StrCat("silent for ", session.idle_seconds(), " s"));
    }
    if (condition == DUL_PEERABORTEDASSOCIATION || condition == DUL_NETWORKCLOSED) {
      session.association.MarkEnded();
    }
    ISO_RETURN_IF_ERROR(ToStatus(session.association, condition));
    ISO_RETURN_IF_ERROR(Dispatch(session, command.context, command.message));
  }
}

}  // namespace

void Serve(const Incoming& incoming, const NodeContext& node, Interruptor& interruptor) {
  absl::StatusOr<Association> association =
      Association::Receive(incoming.socket, incoming.secure, node.options, interruptor);
  if (!association.ok()) {
    node.Report(NodeOperation::kAssociation, NodeOutcome::kFailure);
    spdlog::warn("dicom: {}: {}", incoming.address, std::string(association.status().message()));
    // Plain connections without a request are those of port scans and health checks.
    if (incoming.secure && node.options.audit != nullptr) {
      node.options.audit->Record({.action = audit::Action::kAssociate,
                                  .outcome = audit::Outcome::kRefused,
                                  .actor = {"", incoming.address, ""},
                                  .service = "dicom",
                                  .detail = std::string(association.status().message())});
    }
    return;
  }
  Session session{node, *std::move(association), interruptor, "", incoming.address, {}, ""};
  session.calling_ae_title = CallingAeTitle(session);
  const CallerCounts::Place place(node.counts, session.calling_ae_title, incoming.address);
  if (!Negotiate(session, incoming.refusal, place.taken())) return;
  session.Audit({.action = audit::Action::kAssociate});
  const absl::Status status = ServeRequests(session);
  node.Report(NodeOperation::kAssociation,
              status.ok() ? NodeOutcome::kSuccess : NodeOutcome::kFailure);
  if (status.ok()) {
    spdlog::debug("dicom: association of '{}' ended", session.calling_ae_title);
  } else {
    spdlog::warn("dicom: association of '{}' broke off: {}", session.calling_ae_title,
                 status.ToString());
    session.Audit({.action = audit::Action::kAssociate,
                   .outcome = audit::Outcome::kFailure,
                   .detail = status.ToString()});
  }
}

int Session::idle_seconds() const {
  return std::max(1, static_cast<int>(node.options.idle_seconds));
}

void Session::Audit(audit::Event event) const {
  if (node.options.audit == nullptr) return;
  event.service = "dicom";
  event.actor = {.name = calling_ae_title,
                 .address = address,
                 .certificate_subject = association.certificate_subject()};
  event.actor.is_known = !event.actor.certificate_subject.empty();
  node.options.audit->Record(std::move(event));
}

absl::StatusOr<Query> ReceiveQuery(Session& session, uint8_t context, const char* sop_class_uid) {
  session.association.AllowMessage();
  T_ASC_PresentationContextID received_context = context;
  ISO_ASSIGN_OR_RETURN(
      const std::unique_ptr<DcmDataset> dataset,
      ReceiveDataSet(session.association, session.idle_seconds(), received_context));
  if (received_context != context) {
    return absl::UnavailableError("the identifier came in another presentation context");
  }
  return Query::Parse(RootOf(sop_class_uid), KeysOf(*dataset));
}

absl::StatusOr<bool> IsCancelled(Session& session, uint8_t context, uint16_t message_id) {
  session.association.AllowMessage();
  Command command;
  const OFCondition received = ReceiveCommand(session.association, /*timeout_seconds=*/0, command);
  if (received == DIMSE_NODATAAVAILABLE) return false;
  ISO_RETURN_IF_ERROR(ToStatus(session.association, received));
  if (command.message.CommandField != DIMSE_C_CANCEL_RQ) {
    return absl::UnavailableError("another request comes before one is answered");
  }
  // It may be that of a request that was finished meanwhile.
  return command.context == context &&
         command.message.msg.CCancelRQ.MessageIDBeingRespondedTo == message_id;
}

}  // namespace isocenter::dicom
