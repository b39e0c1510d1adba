#include "server/audit/audit_message.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::audit {
namespace {

struct Kind {
  const char* code;  // of EventID, in DCM
  const char* name;
  const char* action;     // EventActionCode
  const char* type_code;  // of EventTypeCode, or null
  const char* type_name;
};

Kind KindOf(Action action) {
  switch (action) {
    case Action::kServiceStart:
      return {"110100", "Application Activity", "E", "110120", "Application Start"};
    case Action::kServiceStop:
      return {"110100", "Application Activity", "E", "110121", "Application Stop"};
    case Action::kAssociate:
      return {"110113", "Security Alert", "E", "110126", "Node Authentication"};
    case Action::kQuery:
      return {"110112", "Query", "E", nullptr, nullptr};
    case Action::kRetrieve:
      return {"110104", "DICOM Instances Transferred", "R", nullptr, nullptr};
    case Action::kAcquire:
      return {"110107", "Import", "C", nullptr, nullptr};
    case Action::kRefine:
    case Action::kCancel:
      return {"110111", "Procedure Record", "U", nullptr, nullptr};
    case Action::kDelete:
      return {"110105", "DICOM Study Deleted", "D", nullptr, nullptr};
    case Action::kDownload:
      return {"110106", "Export", "R", nullptr, nullptr};
  }
  return {"110100", "Application Activity", "E", nullptr, nullptr};
}

/// Text as an attribute's value may hold it.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string Attribute(const char* name, const std::string& value) {
  return absl::StrCat(" ", name, "=\"", Escaped(value), "\"");
}

std::string Coded(const char* element, const char* code, const char* system, const char* text) {
  return absl::StrCat("<", element, " csd-code=\"", code, "\" codeSystemName=\"", system,
                      "\" originalText=\"", text, "\"/>");
}

std::string Participant(const std::string& id, const std::string& alternative,
                        const std::string& address, bool requests, const char* role_code,
                        const char* role) {
  std::string text = absl::StrCat("<ActiveParticipant", Attribute("UserID", id));
  if (!alternative.empty()) absl::StrAppend(&text, Attribute("AlternativeUserID", alternative));
  absl::StrAppend(&text, Attribute("UserIsRequestor", requests ? "true" : "false"));
  if (!address.empty()) {
    // Type 2: an IP address.
    absl::StrAppend(&text, Attribute("NetworkAccessPointID", address),
                    Attribute("NetworkAccessPointTypeCode", "2"));
  }
  return absl::StrCat(text, ">", Coded("RoleIDCode", role_code, "DCM", role),
                      "</ActiveParticipant>");
}

/// `kind` and `role` are numbers of RFC 3881's tables.
std::string Object(const std::string& id, const char* kind, const char* role,
                   const std::string& id_type, const std::string& inside) {
  return absl::StrCat("<ParticipantObjectIdentification", Attribute("ParticipantObjectID", id),
                      Attribute("ParticipantObjectTypeCode", kind),
                      Attribute("ParticipantObjectTypeCodeRole", role), ">", id_type, inside,
                      "</ParticipantObjectIdentification>");
}

const char* OutcomeIndicator(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess:
    case Outcome::kCancelled:
      return "0";
    case Outcome::kFailure:
      return "4";  // minor failure
    case Outcome::kRefused:
      return "8";  // serious failure
  }
  return "12";
}

}  // namespace

bool HasMessage(const Event& event) {
  return event.action != Action::kAssociate || event.outcome != Outcome::kSuccess;
}

std::string ToAuditMessage(const Event& event, const std::string& source) {
  const Kind kind = KindOf(event.action);
  std::string text = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><AuditMessage><EventIdentification",
      Attribute("EventActionCode", kind.action),
      Attribute("EventDateTime",
                absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", event.time, absl::UTCTimeZone())),
      Attribute("EventOutcomeIndicator", OutcomeIndicator(event.outcome)), ">",
      Coded("EventID", kind.code, "DCM", kind.name));
  if (kind.type_code != nullptr) {
    absl::StrAppend(&text, Coded("EventTypeCode", kind.type_code, "DCM", kind.type_name));
  }
  if (!event.detail.empty()) {
    absl::StrAppend(&text, "<EventOutcomeDescription>", Escaped(event.detail),
                    "</EventOutcomeDescription>");
  }
  absl::StrAppend(&text, "</EventIdentification>");
  const bool by_itself =
      event.action == Action::kServiceStart || event.action == Action::kServiceStop;
  if (!by_itself) {
    absl::StrAppend(&text, Participant(event.actor.name.empty() ? "unknown" : event.actor.name,
                                       event.actor.certificate_subject, event.actor.address,
                                       /*requests=*/true, "110153", "Source Role ID"));
  }
  absl::StrAppend(
      &text,
      by_itself ? Participant(source, "", "", /*requests=*/true, "110150", "Application")
                : Participant(source, "", "", /*requests=*/false, "110152", "Destination Role ID"));
  if (!event.destination.empty()) {
    absl::StrAppend(&text, Participant(event.destination, "", "", /*requests=*/false, "110152",
                                       "Destination Role ID"));
  }
  absl::StrAppend(&text, "<AuditSourceIdentification", Attribute("AuditSourceID", source), "/>");
  for (const std::string& patient : event.patient_ids) {
    absl::StrAppend(
        &text, Object(patient, "1", "1",
                      Coded("ParticipantObjectIDTypeCode", "2", "RFC-3881", "Patient Number"), ""));
  }
  for (const std::string& study : event.study_uids) {
    absl::StrAppend(
        &text,
        Object(study, "2", "3",
               Coded("ParticipantObjectIDTypeCode", "110180", "DCM", "Study Instance UID"), ""));
  }
  for (const std::string& job : event.job_ids) {
    absl::StrAppend(
        &text, Object(job, "2", "20",
                      Coded("ParticipantObjectIDTypeCode", "9", "RFC-3881", "Report Number"), ""));
  }
  if (event.action == Action::kQuery) {
    const std::string keys = absl::StrJoin(event.query, " ");
    absl::StrAppend(
        &text,
        Object(keys.empty() ? "all" : keys, "2", "24",
               Coded("ParticipantObjectIDTypeCode", "10", "RFC-3881", "Search Criteria"), ""));
  }
  return absl::StrCat(text, "</AuditMessage>");
}

std::string ToSyslogFrame(const Event& event, const std::string& source, const std::string& host,
                          int process_id) {
  // Facility 10 (security), severity 5 (notice); the text begins with the mark of UTF-8.
  const std::string message = absl::StrCat(
      "<85>1 ", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", event.time, absl::UTCTimeZone()), " ",
      host.empty() ? "-" : host, " isocenterd ", process_id, " DICOM+RFC3881 - \xef\xbb\xbf",
      ToAuditMessage(event, source));
  return absl::StrCat(message.size(), " ", message);
}

}  // namespace isocenter::audit
