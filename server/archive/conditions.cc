#include "server/archive/conditions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"

namespace isocenter::archive {

std::string Conditions::AddValue(Value value) {
  values_.push_back(std::move(value));
  return absl::StrCat(absl::string_view(&mark_, 1), values_.size());
}

void Conditions::AddList(const char* column, const std::vector<std::string>& list,
                         const char* form) {
  if (list.empty()) return;
  std::vector<std::string> marks;
  for (const std::string& item : list) marks.push_back(AddValue(item));
  Add(absl::Substitute(form, absl::StrCat(column, " IN (", absl::StrJoin(marks, ","), ")")));
}

void Conditions::AddTexts(const char* column, const std::vector<TextTerm>& texts,
                          const char* form) {
  // After it comes everything that does not begin with the text: no character has a greater code.
  constexpr char kLast[] = "\xf4\x8f\xbf\xbf";
  if (texts.empty()) return;
  std::vector<std::string> alternatives;
  for (const TextTerm& term : texts) {
    const std::string first = AddValue(term.text);
    if (!term.is_prefix) {
      alternatives.push_back(absl::StrCat(column, " = ", first));
      continue;
    }
    const std::string last = AddValue(term.text + kLast);
    alternatives.push_back(
        absl::StrCat("(", column, " >= ", first, " AND ", column, " < ", last, ")"));
  }
  Add(absl::Substitute(form, absl::StrCat("(", absl::StrJoin(alternatives, " OR "), ")")));
}

void Conditions::AddBound(const char* comparison, const std::string& bound) {
  if (!bound.empty()) Add(absl::StrCat(comparison, " ", AddValue(bound)));
}

void Conditions::AddOfStudies(const Selection& selection) {
  AddList("s.instance_uid", selection.study_uids);
  AddBound("s.date >=", selection.first_study_date);
  AddBound("s.date <=", selection.last_study_date);
  AddTexts("p.id", selection.patient_ids);
  AddTexts("name", selection.patient_names,
           "p.key IN (SELECT patient_key FROM patient_names WHERE $0)");
  AddTexts("s.accession_number", selection.accession_numbers);
}

void Conditions::AddOfSeries(const Selection& selection) {
  AddList("r.instance_uid", selection.series_uids);
  AddTexts("r.requested_procedure_id", selection.requested_procedure_ids);
  AddTexts("r.scheduled_step_id", selection.scheduled_step_ids);
}

std::string Conditions::Where() const {
  return terms_.empty() ? "" : absl::StrCat(" WHERE ", absl::StrJoin(terms_, " AND "));
}

}  // namespace isocenter::archive
