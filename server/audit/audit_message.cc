#include "server/audit/audit_message.h"

#include <cstdint>
#include <pugixml.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "server/audit/text.h"

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
    case Action::kTransmit:
      return {"110104", "DICOM Instances Transferred", "R", nullptr, nullptr};
    case Action::kAcquire:
      return {"110107", "Import", "C", nullptr, nullptr};
    case Action::kRefine:
    case Action::kCancel:
    case Action::kProcedureStep:
      return {"110111", "Procedure Record", "U", nullptr, nullptr};
    case Action::kDelete:
      return {"110105", "DICOM Study Deleted", "D", nullptr, nullptr};
    case Action::kDownload:
    case Action::kSend:
    case Action::kRetry:
      return {"110106", "Export", "R", nullptr, nullptr};
    case Action::kView:
      return {"110103", "DICOM Instances Accessed", "R", nullptr, nullptr};
    case Action::kDrain:
    case Action::kUndrain:
    case Action::kCalibration:
    case Action::kQuality:
    case Action::kReplica:
    case Action::kCall:
      return {"110113", "Security Alert", "E", "110132", "Use of Restricted Function"};
    case Action::kSignIn:
      return {"110114", "User Authentication", "E", "110122", "Login"};
    case Action::kSignOut:
      return {"110114", "User Authentication", "E", "110123", "Logout"};
    case Action::kTrail:
      return {"110113", "Security Alert", "E", "110133", "Audit Recording Stopped"};
  }
  return {"110100", "Application Activity", "E", nullptr, nullptr};
}

void Set(pugi::xml_node& node, const char* name, absl::string_view value) {
  node.append_attribute(name) = Legal(value).c_str();
}

void AddCoded(pugi::xml_node& node, const char* element, const char* code, const char* system,
              const char* text) {
  pugi::xml_node coded = node.append_child(element);
  Set(coded, "csd-code", code);
  Set(coded, "codeSystemName", system);
  Set(coded, "originalText", text);
}

void AddParticipant(pugi::xml_node& message, const Actor& actor, bool requests,
                    const char* role_code, const char* role) {
  pugi::xml_node participant = message.append_child("ActiveParticipant");
  Set(participant, "UserID", actor.name);
  if (!actor.certificate_subject.empty()) {
    Set(participant, "AlternativeUserID", actor.certificate_subject);
  }
  Set(participant, "UserIsRequestor", requests ? "true" : "false");
  if (!actor.address.empty()) {
    Set(participant, "NetworkAccessPointID", actor.address);
    Set(participant, "NetworkAccessPointTypeCode", "2");  // an IP address
  }
  AddCoded(participant, "RoleIDCode", role_code, "DCM", role);
}

/// What kind of object it is; `type` and `role` are numbers of RFC 3881's tables.
struct ObjectKind {
  const char *type, *role;
  const char *id_code, *id_system, *id_name;
};
constexpr ObjectKind kPatient = {"1", "1", "2", "RFC-3881", "Patient Number"};
constexpr ObjectKind kStudy = {"2", "3", "110180", "DCM", "Study Instance UID"};
constexpr ObjectKind kReport = {"2", "20", "9", "RFC-3881", "Report Number"};
constexpr ObjectKind kSearch = {"2", "24", "10", "RFC-3881", "Search Criteria"};

void AddObject(pugi::xml_node& message, const ObjectKind& kind, absl::string_view id) {
  pugi::xml_node object = message.append_child("ParticipantObjectIdentification");
  Set(object, "ParticipantObjectID", id);
  Set(object, "ParticipantObjectTypeCode", kind.type);
  Set(object, "ParticipantObjectTypeCodeRole", kind.role);
  AddCoded(object, "ParticipantObjectIDTypeCode", kind.id_code, kind.id_system, kind.id_name);
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

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

/// The detail, and what the record says of others.
std::string DescriptionOf(const Event& event) {
  std::string text = event.detail;
  const auto add = [&text](const auto&... words) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", words...);
  };
  if (event.count > 0) add(event.count, " further events since ", TimeText(event.since));
  if (event.parts > 0) add("part ", event.part, " of ", event.parts);
  if (event.lost > 0) add(event.lost, " records before this one are lost");
  if (event.torn_bytes > 0) add(event.torn_bytes, " bytes of another record are left");
  return text;
}

void AddEvent(pugi::xml_node& message, const Event& event) {
  const Kind kind = KindOf(event.action);
  pugi::xml_node identification = message.append_child("EventIdentification");
  Set(identification, "EventActionCode", kind.action);
  Set(identification, "EventDateTime", TimeText(event.time));
  Set(identification, "EventOutcomeIndicator", OutcomeIndicator(event.outcome));
  AddCoded(identification, "EventID", kind.code, "DCM", kind.name);
  if (kind.type_code != nullptr) {
    AddCoded(identification, "EventTypeCode", kind.type_code, "DCM", kind.type_name);
  }
  const std::string description = DescriptionOf(event);
  if (description.empty()) return;
  identification.append_child("EventOutcomeDescription").text() = Legal(description).c_str();
}

void AddParticipants(pugi::xml_node& message, const Event& event, const std::string& source) {
  if (event.action == Action::kServiceStart || event.action == Action::kServiceStop ||
      event.action == Action::kTrail) {
    AddParticipant(message, {.name = source}, /*requests=*/true, "110150", "Application");
  } else {
    Actor actor = event.actor;
    if (actor.name.empty()) actor.name = "unknown";
    AddParticipant(message, actor, /*requests=*/true, "110153", "Source Role ID");
    AddParticipant(message, {.name = source}, /*requests=*/false, "110152", "Destination Role ID");
  }
  if (event.destination.empty()) return;
  AddParticipant(message, {.name = event.destination}, /*requests=*/false, "110152",
                 "Destination Role ID");
}

}  // namespace

bool HasMessage(const Event& event) {
  return event.action != Action::kAssociate || event.outcome != Outcome::kSuccess;
}

std::string ToAuditMessage(const Event& event, const std::string& source) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  Set(declaration, "version", "1.0");
  Set(declaration, "encoding", "UTF-8");
  pugi::xml_node message = document.append_child("AuditMessage");
  AddEvent(message, event);
  AddParticipants(message, event, source);
  pugi::xml_node installation = message.append_child("AuditSourceIdentification");
  Set(installation, "AuditSourceID", source);
  for (const std::string& patient : event.patient_ids) AddObject(message, kPatient, patient);
  for (const std::string& study : event.study_uids) AddObject(message, kStudy, study);
  for (const std::string& job : event.job_ids) AddObject(message, kReport, job);
  if (event.action == Action::kQuery) {
    const std::string keys = absl::StrJoin(event.query, " ");
    AddObject(message, kSearch, keys.empty() ? "all" : keys);
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw, pugi::encoding_utf8);
  return text.str();
}

std::string ToSyslogFrame(const NumberedEvent& record, const std::string& source,
                          const std::string& host, int process_id) {
  constexpr int64_t kLargestSequence = 2147483647;  // then it begins again at 1
  const std::string data =
      record.number == 0
          ? "-"
          : absl::StrCat("[meta sequenceId=\"", (record.number - 1) % kLargestSequence + 1, "\"]");
  // Facility 10 (security), severity 5 (notice); the text begins with the mark of UTF-8.
  const std::string message = absl::StrCat(
      "<85>1 ", TimeText(record.event.time), " ", host.empty() ? "-" : host, " isocenterd ",
      process_id, " DICOM+RFC3881 ", data, " \xef\xbb\xbf", ToAuditMessage(record.event, source));
  return absl::StrCat(message.size(), " ", message);
}

}  // namespace isocenter::audit
