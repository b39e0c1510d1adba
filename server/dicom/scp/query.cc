#include "server/dicom/scp/query.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/scp/matching.h"
#include "server/dicom/scp/query_attributes.h"

namespace isocenter::dicom {
namespace {

constexpr std::array<const char*, 4> kLevelNames = {"PATIENT", "STUDY", "SERIES", "IMAGE"};

const std::string& Nothing() {
  static const std::string* const kNothing = new std::string;
  return *kNothing;
}

/// Part of every answer, or of how the request is written, instead of a key.
bool IsAnsweredAlways(TagPath tag) {
  return tag == kQueryRetrieveLevel || tag == kSpecificCharacterSet || tag == kTimezoneOffset ||
         tag == kRetrieveAeTitle || tag == kInstanceAvailability;
}

std::vector<std::string> ListOf(const std::string& value) {
  return absl::StrSplit(value, '\\', absl::SkipEmpty());
}

/// What a key of matching kText means to the index; empty: everything, or nothing that it knows.
std::vector<archive::TextTerm> TermsOf(const std::string& key) {
  std::vector<archive::TextTerm> terms;
  for (const std::string& one : ListOf(key)) {
    const std::string text(absl::StripAsciiWhitespace(one));
    const size_t wildcard = text.find_first_of("*?");
    if (text.empty() || wildcard == 0) return {};
    terms.push_back({text.substr(0, wildcard), wildcard != std::string::npos});
  }
  return terms;
}

/// The same for person names: how one of the component groups of the names that match begins.
std::vector<archive::TextTerm> TermsOfName(const std::string& key) {
  std::vector<archive::TextTerm> terms;
  for (const std::string& one : ListOf(key)) {
    // Of several component groups the first has to match, unless it is empty.
    std::string group = absl::AsciiStrToLower(one.substr(0, one.find('=')));
    group.resize(std::min(group.size(), group.find_first_of("*?")));
    group.erase(group.find_last_not_of("^ ") + 1);
    group.erase(0, group.find_first_not_of(' '));
    if (group.empty()) return {};
    terms.push_back({std::move(group), /*is_prefix=*/true});
  }
  return terms;
}

bool MatchesKeys(const KeyValues& keys, Level level, const Entity& entity) {
  return std::all_of(keys.begin(), keys.end(), [&](const auto& key) {
    const Attribute* attribute = FindAttribute(key.first, level);
    if (attribute == nullptr || key.second.empty()) return true;
    if (attribute->tag == kModalitiesInStudy) {
      return std::any_of(entity.modalities.begin(), entity.modalities.end(),
                         [&](const std::string& modality) {
                           return Matches(attribute->matching, key.second, modality);
                         });
    }
    return Matches(attribute->matching, key.second, attribute->value(entity));
  });
}

KeyValues Answer(const KeyValues& keys, Level level, const std::string& retrieve_ae_title,
                 const Entity& entity) {
  KeyValues answer = {{kSpecificCharacterSet, "ISO_IR 192"},
                      {kQueryRetrieveLevel, kLevelNames[static_cast<int>(level)]},
                      {kRetrieveAeTitle, retrieve_ae_title},
                      {kInstanceAvailability, "ONLINE"}};
  for (const auto& [tag, requested] : keys) {
    if (const Attribute* attribute = FindAttribute(tag, level); attribute != nullptr) {
      answer[tag] = attribute->value(entity);
    }
  }
  return answer;
}

/// Calls `visit` with every entity of the level in the selection until it returns false. Matching
/// the keys is left to the caller; here they only spare the reading of instances.
absl::Status ForEachEntity(archive::Catalog& catalog, archive::Purpose purpose, Level level,
                           const archive::Selection& selection, const KeyValues& keys,
                           archive::Gap& gap, const std::function<bool(const Entity&)>& visit) {
  if (level == Level::kPatient) {
    ISO_ASSIGN_OR_RETURN(const auto rows, catalog.FindPatients(selection, gap));
    for (const archive::PatientRow& row : rows) {
      Entity entity{.patient = row.patient};
      entity.study_count = row.study_count;
      entity.series_count = row.series_count;
      entity.instance_count = row.instance_count;
      if (!visit(entity)) break;
    }
    return absl::OkStatus();
  }
  if (level == Level::kStudy) {
    ISO_ASSIGN_OR_RETURN(const auto rows, catalog.FindStudies(selection, gap));
    for (const archive::StudyRow& row : rows) {
      Entity entity{.patient = row.patient, .study = row.study, .modalities = row.modalities};
      entity.series_count = row.series_count;
      entity.instance_count = row.instance_count;
      if (!visit(entity)) break;
    }
    return absl::OkStatus();
  }
  ISO_ASSIGN_OR_RETURN(const auto rows, catalog.FindSeries(selection, gap));
  for (const archive::SeriesRow& row : rows) {
    Entity entity{.patient = row.patient, .study = row.study, .series = row.series};
    entity.instance_count = row.instance_count;
    if (level == Level::kSeries) {
      if (!visit(entity)) break;
      continue;
    }
    if (!MatchesKeys(keys, Level::kSeries, entity)) continue;  // none of its instances can match
    ISO_ASSIGN_OR_RETURN(const auto instances,
                         catalog.FindInstances(row.series.instance_uid, purpose, gap));
    for (const archive::InstanceRow& instance : instances) {
      entity.instance = instance.instance;
      entity.file = instance.file;
      entity.node = instance.node;
      if (!visit(entity)) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Query> Query::Parse(QueryRoot root, KeyValues keys) {
  const std::string name = keys[kQueryRetrieveLevel];
  const auto it = std::find_if(kLevelNames.begin(), kLevelNames.end(), [&](const char* level) {
    return absl::StripAsciiWhitespace(name) == level;
  });
  const Level level = static_cast<Level>(it - kLevelNames.begin());
  const Level first = root == QueryRoot::kPatient ? Level::kPatient : Level::kStudy;
  if (it == kLevelNames.end() || level < first) {
    return absl::InvalidArgumentError(
        absl::StrCat("Query/Retrieve Level (0008,0052) is '", name, "'; legal is ",
                     root == QueryRoot::kPatient ? "PATIENT, " : "", "STUDY, SERIES or IMAGE"));
  }
  Query query(level, std::move(keys));
  query.has_unsupported_keys_ =
      std::any_of(query.keys_.begin(), query.keys_.end(), [&](const auto& key) {
        return !IsAnsweredAlways(key.first) && FindAttribute(key.first, level) == nullptr;
      });
  return query;
}

const std::string& Query::Key(TagPath tag) const {
  const auto it = keys_.find(tag);
  return it == keys_.end() ? Nothing() : it->second;
}

const std::string& Query::MatchedKey(TagPath tag) const {
  return FindAttribute(tag, level_) == nullptr ? Nothing() : Key(tag);
}

archive::Selection Query::SelectionOfKeys() const {
  const DateRange dates = ParseDateRange(MatchedKey(kStudyDate));
  return {.study_uids = ListOf(MatchedKey(kStudyInstanceUid)),
          .series_uids = ListOf(MatchedKey(kSeriesInstanceUid)),
          .first_study_date = std::string(dates.first),
          .last_study_date = std::string(dates.last),
          .sop_instance_uids = ListOf(MatchedKey(kSopInstanceUid)),
          .patient_ids = TermsOf(MatchedKey(kPatientId)),
          .accession_numbers = TermsOf(MatchedKey(kAccessionNumber)),
          .requested_procedure_ids =
              TermsOf(MatchedKey(InSequence(kRequestAttributesSequence, kRequestedProcedureId))),
          .scheduled_step_ids =
              TermsOf(MatchedKey(InSequence(kRequestAttributesSequence, kScheduledStepId))),
          .patient_names = TermsOfName(MatchedKey(kPatientName))};
}

absl::Status Query::ForEachMatch(archive::Catalog& catalog, const std::string& retrieve_ae_title,
                                 const std::function<bool(const KeyValues&)>& on_match,
                                 archive::Gap& gap) const {
  return ForEachEntity(catalog, archive::Purpose::kAnswer, level_, SelectionOfKeys(), keys_, gap,
                       [&](const Entity& entity) {
                         return !MatchesKeys(keys_, level_, entity) ||
                                on_match(Answer(keys_, level_, retrieve_ae_title, entity));
                       });
}

absl::StatusOr<std::vector<archive::InstanceRow>> Query::Instances(archive::Catalog& catalog,
                                                                   Subjects& subjects,
                                                                   archive::Gap& gap) const {
  constexpr std::array<uint32_t, 4> kUniqueKeys = {kPatientId, kStudyInstanceUid,
                                                   kSeriesInstanceUid, kSopInstanceUid};
  KeyValues unique;
  for (uint32_t tag : kUniqueKeys) {
    if (!Key(tag).empty()) unique[tag] = Key(tag);
  }
  const uint32_t required = kUniqueKeys[static_cast<int>(level_)];
  const std::string& value = Key(required);
  if (value.empty() || value.find_first_of("*?") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("a retrieval at level ", kLevelNames[static_cast<int>(level_)],
                     " needs the unique key (", absl::Hex(required >> 16, absl::kZeroPad4), ",",
                     absl::Hex(required & 0xffff, absl::kZeroPad4), ") with neither '*' nor '?'"));
  }
  const archive::Selection selection = {.study_uids = ListOf(Key(kStudyInstanceUid)),
                                        .series_uids = ListOf(Key(kSeriesInstanceUid)),
                                        .sop_instance_uids = ListOf(Key(kSopInstanceUid)),
                                        .patient_ids = TermsOf(Key(kPatientId))};
  std::vector<archive::InstanceRow> instances;
  std::set<std::string> found;  // values of the level's unique key
  ISO_RETURN_IF_ERROR(
      ForEachEntity(catalog, archive::Purpose::kRetrieval, Level::kImage, selection, unique, gap,
                    [&](const Entity& entity) {
                      if (MatchesKeys(unique, Level::kImage, entity)) {
                        instances.push_back({entity.instance, entity.file, entity.node});
                        subjects.patient_ids.insert(entity.patient.id);
                        subjects.study_uids.insert(entity.study.instance_uid);
                        found.insert(level_ == Level::kSeries ? entity.series.instance_uid
                                                              : entity.instance.sop_instance_uid);
                      }
                      return true;
                    }));
  // A series is whole wherever it is.
  const bool of_series = level_ == Level::kSeries || level_ == Level::kImage;
  if (of_series && std::ranges::all_of(ListOf(value), [&](const std::string& uid) {
        return found.count(uid) > 0;
      })) {
    gap.clear();
  }
  return instances;
}

}  // namespace isocenter::dicom
