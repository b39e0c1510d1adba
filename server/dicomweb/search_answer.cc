#include "server/dicomweb/search_answer.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "server/dicom/scp/query_attributes.h"

namespace isocenter::dicomweb {
namespace {

using Json = nlohmann::json;  // its keys are sorted, as those of data sets are

constexpr uint32_t kRetrieveUrl = 0x00081190;

std::string Key(uint64_t tag) { return absl::StrFormat("%08X", tag & 0xffffffff); }

/// The component groups of a person's name.
Json NameOf(const std::string& value) {
  constexpr const char* kGroups[] = {"Alphabetic", "Ideographic", "Phonetic"};
  const std::vector<std::string> groups = absl::StrSplit(value, '=');
  Json name = Json::object();
  for (size_t i = 0; i < std::min(groups.size(), std::size(kGroups)); ++i) {
    if (!groups[i].empty()) name[kGroups[i]] = groups[i];
  }
  return name;
}

Json ValueOf(absl::string_view vr, const std::string& value) {
  int64_t number = 0;
  if (vr == "PN") return NameOf(value);
  if ((vr == "IS" || vr == "US") && absl::SimpleAtoi(value, &number)) return number;
  return value;
}

/// `values`: none of them empty.
Json ElementOf(const char* vr, const std::vector<std::string>& values) {
  Json element = {{"vr", vr}};
  for (const std::string& value : values) element["Value"].push_back(ValueOf(vr, value));
  return element;
}

std::vector<std::string> ValuesOf(const SearchAttribute& attribute, const std::string& value) {
  if (attribute.field == archive::Field::kModalitiesInStudy) {
    return absl::StrSplit(value, ',', absl::SkipEmpty());
  }
  if (value.empty()) return {};
  return {value};
}

void Put(const SearchAttribute& attribute, const std::string& value, Json& object) {
  const uint64_t sequence = attribute.tag >> 32;
  if (sequence == 0) {
    object[Key(attribute.tag)] = ElementOf(attribute.vr, ValuesOf(attribute, value));
    return;
  }
  Json& items = object[Key(sequence)];
  items["vr"] = "SQ";
  if (value.empty()) return;  // a sequence without any stays empty
  items["Value"][0][Key(attribute.tag)] = ElementOf(attribute.vr, {value});
}

}  // namespace

std::string SearchAnswer(const SearchRequest& search,
                         const std::vector<std::vector<std::string>>& rows,
                         absl::string_view base) {
  Json answer = Json::array();
  for (const std::vector<std::string>& row : rows) {
    Json object = {{Key(dicom::kSpecificCharacterSet), ElementOf("CS", {"ISO_IR 192"})},
                   {Key(dicom::kInstanceAvailability), ElementOf("CS", {"ONLINE"})}};
    ObjectPath path;
    for (size_t i = 0; i < row.size(); ++i) {
      const SearchAttribute& attribute = *search.returned[i];
      Put(attribute, row[i], object);
      if (attribute.tag == dicom::kStudyInstanceUid) path.study = row[i];
      if (attribute.tag == dicom::kSeriesInstanceUid) path.series = row[i];
      if (attribute.tag == dicom::kSopInstanceUid) path.instance = row[i];
    }
    object[Key(kRetrieveUrl)] = ElementOf("UR", {UrlOf(base, path)});
    answer.push_back(std::move(object));
  }
  // Names that are not UTF-8 keep what of them is.
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace isocenter::dicomweb
