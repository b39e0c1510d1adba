#include "server/pipeline/orders/order_match.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace isocenter::pipeline {
namespace {

using jobs::JobWarning;
using jobs::PatientStudy;
using jobs::ScheduledStep;
using jobs::WarningKind;

constexpr int kMostSteps = 50;  // that one order could have
constexpr size_t kComponentGroups = 3;
constexpr size_t kStudyIdLength = 16;

JobWarning Mismatch(std::string text) {
  return {WarningKind::kWorklistMismatch, std::nullopt, std::move(text)};
}

/// The component groups of a name, without blanks at the ends of components and without empty
/// components at the end.
std::vector<std::string> ComponentGroups(absl::string_view name) {
  std::vector<std::string> groups;
  for (const absl::string_view group : absl::StrSplit(name, '=')) {
    std::vector<std::string> components;
    for (const absl::string_view component : absl::StrSplit(group, '^')) {
      components.emplace_back(absl::StripAsciiWhitespace(component));
    }
    while (!components.empty() && components.back().empty()) components.pop_back();
    groups.push_back(absl::StrJoin(components, "^"));
  }
  groups.resize(kComponentGroups);
  return groups;
}

/// Whether no component group that both have differs, and there is at least one that both have.
/// Letters of either case are the same.
bool SameName(absl::string_view a, absl::string_view b) {
  const std::vector<std::string> of_a = ComponentGroups(a), of_b = ComponentGroups(b);
  bool compared = false;
  for (size_t i = 0; i < kComponentGroups; ++i) {
    if (of_a[i].empty() || of_b[i].empty()) continue;
    if (!absl::EqualsIgnoreCase(of_a[i], of_b[i])) return false;
    compared = true;
  }
  return compared;
}

/// The header's name with the component groups that only the worklist has.
std::string CompleteName(absl::string_view header, absl::string_view worklist) {
  std::vector<std::string> groups = ComponentGroups(header);
  const std::vector<std::string> others = ComponentGroups(worklist);
  bool added = false;
  for (size_t i = 0; i < kComponentGroups; ++i) {
    if (!groups[i].empty() || others[i].empty()) continue;
    groups[i] = others[i];
    added = true;
  }
  if (!added) return std::string(header);
  while (groups.back().empty()) groups.pop_back();
  return absl::StrJoin(groups, "=");
}

bool Contradicts(const std::string& header, const std::string& worklist) {
  return !header.empty() && !worklist.empty() && header != worklist;
}

std::vector<std::string ScheduledStep::*> OrderFields() {
  return {&ScheduledStep::requested_procedure_id, &ScheduledStep::requested_procedure_description,
          &ScheduledStep::step_id, &ScheduledStep::step_description, &ScheduledStep::modality};
}

std::vector<std::string PatientStudy::*> IdentityFields() {
  return {&PatientStudy::patient_name,
          &PatientStudy::patient_id,
          &PatientStudy::patient_birth_date,
          &PatientStudy::patient_sex,
          &PatientStudy::study_instance_uid,
          &PatientStudy::accession_number,
          &PatientStudy::study_id,
          &PatientStudy::study_description,
          &PatientStudy::referring_physician_name};
}

/// What all of the steps say; there is at least one.
ScheduledStep InCommon(const std::vector<ScheduledStep>& steps) {
  ScheduledStep common = steps.front();
  for (const ScheduledStep& step : steps) {
    for (const auto field : OrderFields()) {
      if (step.*field != common.*field) (common.*field).clear();
    }
    for (const auto field : IdentityFields()) {
      if (step.patient_study.*field != common.patient_study.*field) {
        (common.patient_study.*field).clear();
      }
    }
  }
  return common;
}

OrderMatch NothingTaken(const PatientStudy& header) {
  OrderMatch match{.patient_study = header};
  match.order.settled = true;
  match.order.header_patient_id = header.patient_id;
  match.order.header_accession_number = header.accession_number;
  return match;
}

OrderMatch Refused(const PatientStudy& header, std::string why) {
  OrderMatch match = NothingTaken(header);
  match.warnings.push_back(Mismatch(absl::StrCat(why, "; nothing was taken from the worklist")));
  return match;
}

void Take(const ScheduledStep& step, OrderMatch& match) {
  PatientStudy& identity = match.patient_study;
  const PatientStudy& scheduled = step.patient_study;
  std::vector<std::string> different;
  if (NamesContradict(identity, scheduled)) {
    different.emplace_back("patient's name");
  } else if (!identity.patient_name.empty()) {
    identity.patient_name = CompleteName(identity.patient_name, scheduled.patient_name);
  }
  for (const auto& [field, name] :
       {std::pair(&PatientStudy::patient_birth_date, "date of birth"),
        std::pair(&PatientStudy::patient_sex, "sex"),
        std::pair(&PatientStudy::study_instance_uid, "Study Instance UID")}) {
    if (Contradicts(identity.*field, scheduled.*field)) different.emplace_back(name);
  }
  if (!different.empty()) {
    match.warnings.push_back(
        Mismatch(absl::StrCat("the worklist has another ", absl::StrJoin(different, ", "),
                              " than the header, which stands")));
  }
  for (const auto field : IdentityFields()) {
    if ((identity.*field).empty()) identity.*field = scheduled.*field;
  }
  if (identity.study_description.empty()) {
    identity.study_description = step.requested_procedure_description;
  }
  if (identity.study_id.empty() && step.requested_procedure_id.size() <= kStudyIdLength) {
    identity.study_id = step.requested_procedure_id;
  }
  match.order.requested_procedure_id = step.requested_procedure_id;
  match.order.requested_procedure_description = step.requested_procedure_description;
  match.order.scheduled_step_id = step.step_id;
  match.order.scheduled_step_description = step.step_description;
  match.order.modality = step.modality;
}

}  // namespace

bool NamesContradict(const PatientStudy& header, const PatientStudy& other) {
  return !header.patient_name.empty() && !other.patient_name.empty() &&
         !SameName(header.patient_name, other.patient_name);
}

bool CanBeAsked(const PatientStudy& header) {
  return !header.accession_number.empty() || !header.patient_id.empty();
}

jobs::WorklistQuery QueryOf(const PatientStudy& header) {
  jobs::WorklistQuery query{.accession_number = header.accession_number, .limit = kMostSteps};
  if (header.accession_number.empty()) query.patient_id = header.patient_id;
  return query;
}

OrderMatch MatchOrder(const PatientStudy& header, const std::vector<ScheduledStep>& steps) {
  // Not every worklist matches by the key, and none knows that '*' is meant as it is.
  std::vector<ScheduledStep> found = steps;
  std::erase_if(found, [&](const ScheduledStep& step) {
    return header.accession_number.empty()
               ? step.patient_study.patient_id != header.patient_id
               : step.patient_study.accession_number != header.accession_number;
  });
  const std::string key =
      header.accession_number.empty() ? "the header's patient id" : "the header's accession number";
  if (found.empty()) {
    return Refused(header, absl::StrCat("nothing is scheduled for ", key));
  }
  std::erase_if(found, [&](const ScheduledStep& step) {
    return Contradicts(header.patient_id, step.patient_study.patient_id);
  });
  if (found.empty()) {
    return Refused(header, absl::StrCat("the worklist has another patient id for ", key));
  }
  const auto of_study = [&](const ScheduledStep& step) {
    return step.patient_study.study_instance_uid == header.study_instance_uid;
  };
  if (!header.study_instance_uid.empty() && std::ranges::any_of(found, of_study)) {
    std::erase_if(found, [&](const ScheduledStep& step) { return !of_study(step); });
  }
  const ScheduledStep common = InCommon(found);
  if (common.patient_study.patient_id != found.front().patient_study.patient_id) {
    return Refused(header, absl::StrCat("the worklist has several patients for ", key));
  }
  const bool unconfirmed = header.patient_id.empty() || common.patient_study.patient_id.empty();
  if (unconfirmed && std::ranges::any_of(found, [&](const ScheduledStep& step) {
        return NamesContradict(header, step.patient_study) ||
               Contradicts(header.patient_birth_date, step.patient_study.patient_birth_date);
      })) {
    return Refused(header, absl::StrCat("the worklist has another patient's name or date of birth "
                                        "for ",
                                        key));
  }
  OrderMatch match = NothingTaken(header);
  if (found.size() > 1) {
    match.warnings.push_back(
        Mismatch(absl::StrCat("the worklist has ", found.size(), " steps for ", key,
                              "; only what they have in common was taken")));
  }
  Take(common, match);
  return match;
}

OrderMatch MatchPair(const PatientStudy& header, const jobs::Job& other) {
  ScheduledStep step{.patient_study = other.patient_study};
  step.requested_procedure_id = other.order.requested_procedure_id;
  step.requested_procedure_description = other.order.requested_procedure_description;
  step.step_id = other.order.scheduled_step_id;
  step.step_description = other.order.scheduled_step_description;
  step.modality = other.order.modality;
  OrderMatch match = NothingTaken(header);
  Take(step, match);
  return match;
}

}  // namespace isocenter::pipeline
