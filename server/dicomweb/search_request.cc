#include "server/dicomweb/search_request.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/scp/matching.h"
#include "server/dicom/scp/query_attributes.h"

namespace isocenter::dicomweb {
namespace {

using dicom::Level;
using dicom::Matching;

constexpr char kLimit[] = "limit", kOffset[] = "offset", kIncludeField[] = "includefield";
constexpr char kFuzzyMatching[] = "fuzzymatching";
constexpr size_t kMostValues = 1000;  // of one key

Matching MatchingOf(const SearchAttribute& attribute, Level level) {
  const dicom::Attribute* const known = dicom::FindAttribute(attribute.tag, level);
  return known == nullptr ? Matching::kNone : known->matching;
}

absl::Status Illegal(absl::string_view name, absl::string_view value, absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat(name.substr(0, 64), " is '", value.substr(0, 80), "'; legal ", legal));
}

/// What stands for any key of a level.
std::string LegalNames(Level level) {
  std::vector<std::string> names;
  for (const SearchAttribute& attribute : SearchAttributes()) {
    if (MatchingOf(attribute, level) != Matching::kNone) names.emplace_back(attribute.keyword);
  }
  return absl::StrCat("are ", absl::StrJoin(names, ", "), ", or their tags; ", kIncludeField, ", ",
                      kLimit, ", ", kOffset, ", ", kFuzzyMatching, " and accept");
}

absl::StatusOr<int64_t> NumberOf(absl::string_view name, absl::string_view value, int64_t least,
                                 int64_t most) {
  const bool is_number = !value.empty() && std::ranges::all_of(value, absl::ascii_isdigit);
  int64_t number = most + 1;  // also what is too long for any number
  if (is_number) (void)absl::SimpleAtoi(value, &number);
  if (is_number && number >= least) return number;
  return Illegal(name, value, absl::StrCat("are integers from ", least, " on"));
}

bool IsOf(absl::string_view text, absl::string_view characters, size_t longest) {
  return text.size() <= longest && text.find_first_not_of(characters) == absl::string_view::npos;
}

/// One of the values of a key, which is not empty.
absl::Status CheckValue(const SearchAttribute& attribute, Matching matching,
                        absl::string_view value) {
  const absl::string_view name = attribute.keyword;
  int64_t number = 0;
  switch (matching) {
    case Matching::kUid:
      return CheckUid(name, value);
    case Matching::kDate: {
      const dicom::DateRange range = dicom::ParseDateRange(value);
      if (!range.first.empty() || !range.last.empty()) return absl::OkStatus();
      return Illegal(name, value, "are YYYYMMDD, YYYYMMDD-, -YYYYMMDD and YYYYMMDD-YYYYMMDD");
    }
    case Matching::kTime:
      if (IsOf(value, "0123456789.-", 27) && value != "-") return absl::OkStatus();
      return Illegal(name, value, "are HHMMSS, shorter ones, and ranges with '-'");
    case Matching::kNumber:
      if (absl::SimpleAtoi(value, &number)) return absl::OkStatus();
      return Illegal(name, value, "are integers");
    default:
      return absl::OkStatus();
  }
}

/// As C-FIND has it: several values separated by backslashes.
absl::StatusOr<std::string> KeyOf(const SearchAttribute& attribute, Level level,
                                  absl::string_view value) {
  const Matching matching = MatchingOf(attribute, level);
  // Commas separate values (8.3.4.1) where they cannot be part of one.
  const absl::string_view vr = attribute.vr;
  const std::string key =
      vr == "UI" || vr == "CS" ? absl::StrReplaceAll(value, {{",", "\\"}}) : std::string(value);
  const std::vector<absl::string_view> values = absl::StrSplit(key, '\\');
  if (values.size() > kMostValues) {
    return Illegal(attribute.keyword, absl::StrCat(values.size(), " values"),
                   absl::StrCat("are ", kMostValues));
  }
  for (const absl::string_view one : values) {
    if (!one.empty()) ISO_RETURN_IF_ERROR(CheckValue(attribute, matching, one));
  }
  return key;
}

/// What `includefield` names; unknown attributes are not returned (8.3.4.3).
struct Inclusion {
  bool all = false;
  std::set<const SearchAttribute*> attributes;
  bool request_attributes = false;  // their sequence as a whole
};

absl::Status AddIncluded(absl::string_view value, Inclusion& inclusion) {
  for (const absl::string_view name : absl::StrSplit(value, ',', absl::SkipEmpty())) {
    if (name == "all") {
      inclusion.all = true;
    } else if (const SearchAttribute* const attribute = FindSearchAttribute(name)) {
      inclusion.attributes.insert(attribute);
    } else if (name == "RequestAttributesSequence" || name == "00400275") {
      inclusion.request_attributes = true;
    } else if (!std::ranges::all_of(name,
                                    [](char c) { return absl::ascii_isalnum(c) || c == '.'; })) {
      return Illegal(kIncludeField, name, "are all, keywords and tags of attributes");
    }
  }
  return absl::OkStatus();
}

/// Those of the level, and of levels above that the path does not name, which the client knows; and
/// what else it asks for. UIDs are always among them.
std::vector<const SearchAttribute*> Returned(Level level, const ObjectPath& within,
                                             const Inclusion& inclusion) {
  std::vector<const SearchAttribute*> returned;
  for (const SearchAttribute& attribute : SearchAttributes()) {
    const dicom::Attribute* const known = dicom::FindAttribute(attribute.tag, level);
    if (known == nullptr) continue;
    const bool is_known = (known->level <= Level::kStudy && !within.study.empty()) ||
                          (known->level == Level::kSeries && !within.series.empty());
    const bool is_uid =
        attribute.tag == dicom::kStudyInstanceUid || attribute.tag == dicom::kSeriesInstanceUid;
    const bool is_included = inclusion.all || inclusion.attributes.contains(&attribute) ||
                             (inclusion.request_attributes && attribute.tag >> 32 != 0);
    if (!is_known || is_uid || is_included) returned.push_back(&attribute);
  }
  return returned;
}

}  // namespace

absl::StatusOr<SearchRequest> ParseSearch(Level level, const ObjectPath& within,
                                          const http::Request& request) {
  SearchRequest search{.level = level};
  if (!within.study.empty()) search.keys[dicom::kStudyInstanceUid] = within.study;
  if (!within.series.empty()) search.keys[dicom::kSeriesInstanceUid] = within.series;
  Inclusion inclusion;
  std::set<absl::string_view> seen;
  for (const auto& [name, value] : request.query) {
    if (name == kIncludeField) {
      ISO_RETURN_IF_ERROR(AddIncluded(value, inclusion));
      continue;
    }
    if (!seen.insert(name).second) return Illegal(name, value, "is each parameter once");
    if (name == "accept") continue;
    if (name == kLimit) {
      ISO_ASSIGN_OR_RETURN(const int64_t limit,
                           NumberOf(name, value, 1, SearchRequest::kMostResults));
      search.limit = static_cast<int>(std::min<int64_t>(limit, SearchRequest::kMostResults));
      continue;
    }
    if (name == kOffset) {
      ISO_ASSIGN_OR_RETURN(search.offset, NumberOf(name, value, 0, SearchRequest::kLargestOffset));
      search.offset = std::min(search.offset, SearchRequest::kLargestOffset);
      continue;
    }
    if (name == kFuzzyMatching) {
      if (value != "true" && value != "false") return Illegal(name, value, "are true and false");
      search.wants_fuzzy_matching = value == "true";
      continue;
    }
    const SearchAttribute* const attribute = FindSearchAttribute(name);
    if (attribute == nullptr || MatchingOf(*attribute, level) == Matching::kNone) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", absl::string_view(name).substr(0, 64),
                       "' cannot be searched by here; legal ", LegalNames(level)));
    }
    ISO_ASSIGN_OR_RETURN(std::string key, KeyOf(*attribute, level, value));
    if (!search.keys.emplace(attribute->tag, std::move(key)).second) {
      return Illegal(name, value, "is what the path does not say, once");
    }
  }
  search.returned = Returned(level, within, inclusion);
  return search;
}

absl::StatusOr<archive::ListingRequest> ListingOf(const SearchRequest& search) {
  static constexpr struct {
    Level level;
    const char* name;
    archive::ListingLevel listing;
  } kLevels[] = {{Level::kStudy, "STUDY", archive::ListingLevel::kStudy},
                 {Level::kSeries, "SERIES", archive::ListingLevel::kSeries},
                 {Level::kImage, "IMAGE", archive::ListingLevel::kInstance}};
  const auto* const level =
      std::ranges::find(kLevels, search.level, [](const auto& each) { return each.level; });
  dicom::KeyValues keys = search.keys;
  keys[dicom::kQueryRetrieveLevel] = level->name;
  ISO_ASSIGN_OR_RETURN(const dicom::Query query,
                       dicom::Query::Parse(dicom::QueryRoot::kStudy, std::move(keys)));
  archive::ListingRequest listing{.level = level->listing,
                                  .selection = query.SelectionOfKeys(),
                                  .offset = search.offset,
                                  .limit = search.limit + 1};
  for (const SearchAttribute* attribute : search.returned) {
    listing.fields.push_back(attribute->field);
  }
  for (const SearchAttribute& attribute : SearchAttributes()) {
    const auto key = search.keys.find(attribute.tag);
    if (key == search.keys.end() || key->second.empty()) continue;
    const Matching matching = MatchingOf(attribute, search.level);
    // The selection decides by itself which of a list a unique key is.
    const bool is_unique = attribute.tag == dicom::kStudyInstanceUid ||
                           attribute.tag == dicom::kSeriesInstanceUid ||
                           attribute.tag == dicom::kSopInstanceUid;
    if (is_unique) continue;
    const bool has_several = attribute.field == archive::Field::kModalitiesInStudy;
    listing.conditions.push_back(
        {.field = attribute.field,
         .accepts = [matching, has_several, wanted = key->second](absl::string_view value) {
           if (!has_several) return dicom::Matches(matching, wanted, value);
           const std::vector<absl::string_view> each = absl::StrSplit(value, ',');
           return std::ranges::any_of(
               each, [&](absl::string_view one) { return dicom::Matches(matching, wanted, one); });
         }});
  }
  return listing;
}

}  // namespace isocenter::dicomweb
