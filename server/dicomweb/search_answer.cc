#include "server/dicomweb/search_answer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

using Row = std::vector<std::string>;

/// A sequence of one item with those attributes in `columns` that have a value; without any it
/// stays empty.
Json SequenceOf(const SearchRequest& search, const std::vector<size_t>& columns, const Row& row) {
  Json sequence = {{"vr", "SQ"}};
  for (const size_t column : columns) {
    if (row[column].empty()) continue;
    const SearchAttribute& attribute = *search.returned[column];
    sequence["Value"][0][Key(attribute.tag)] = ElementOf(attribute.vr, {row[column]});
  }
  return sequence;
}

}  // namespace

/// One element of the objects, as text. What rows have in common, such as their patient, is made
/// into text once: they come in an order that keeps it together.
class SearchAnswer::Element {
 public:
  /// `make`: the element, of the values in `columns` of a row.
  Element(const std::string& key, std::vector<size_t> columns, std::function<Json(const Row&)> make)
      : key_(absl::StrCat("\"", key, "\":")),
        columns_(std::move(columns)),
        make_(std::move(make)) {}

  const std::string& TextFor(const Row& row) {
    const bool is_known = !text_.empty() && std::ranges::all_of(columns_, [&](size_t column) {
      return row[column] == last_[column];
    });
    if (is_known) return text_;
    last_.resize(row.size());
    for (const size_t column : columns_) last_[column] = row[column];
    // Names that are not UTF-8 keep what of them is.
    text_ = key_ + make_(row).dump(-1, ' ', false, Json::error_handler_t::replace);
    return text_;
  }

 private:
  std::string key_;
  std::vector<size_t> columns_;
  std::function<Json(const Row&)> make_;
  Row last_;
  std::string text_;
};

std::vector<SearchAnswer::Element> SearchAnswer::ElementsOf(const SearchRequest& search,
                                                            const std::string& base) {
  std::map<std::string, Element> elements;
  const auto add = [&](uint64_t tag, std::vector<size_t> columns,
                       std::function<Json(const Row&)> make) {
    elements.try_emplace(Key(tag), Key(tag), std::move(columns), std::move(make));
  };
  add(dicom::kSpecificCharacterSet, {}, [](const Row&) { return ElementOf("CS", {"ISO_IR 192"}); });
  add(dicom::kInstanceAvailability, {}, [](const Row&) { return ElementOf("CS", {"ONLINE"}); });

  std::map<uint64_t, std::vector<size_t>> sequences;
  std::vector<std::pair<size_t, std::string ObjectPath::*>> uids;
  std::vector<size_t> uid_columns;
  for (size_t i = 0; i < search.returned.size(); ++i) {
    const SearchAttribute& attribute = *search.returned[i];
    if (attribute.tag == dicom::kStudyInstanceUid) uids.emplace_back(i, &ObjectPath::study);
    if (attribute.tag == dicom::kSeriesInstanceUid) uids.emplace_back(i, &ObjectPath::series);
    if (attribute.tag == dicom::kSopInstanceUid) uids.emplace_back(i, &ObjectPath::instance);
    if (attribute.tag >> 32 != 0) {
      sequences[attribute.tag >> 32].push_back(i);
      continue;
    }
    add(attribute.tag, {i}, [&attribute, i](const Row& row) {
      return ElementOf(attribute.vr, ValuesOf(attribute, row[i]));
    });
  }
  for (const auto& [tag, columns] : sequences) {
    add(tag, columns,
        [&search, columns = columns](const Row& row) { return SequenceOf(search, columns, row); });
  }
  for (const auto& [column, part] : uids) uid_columns.push_back(column);
  add(kRetrieveUrl, uid_columns, [base, uids](const Row& row) {
    ObjectPath path;
    for (const auto& [column, part] : uids) path.*part = row[column];
    return ElementOf("UR", {UrlOf(base, path)});
  });
  std::vector<Element> in_order;
  for (auto& [key, element] : elements) in_order.push_back(std::move(element));
  return in_order;
}

SearchAnswer::SearchAnswer(const SearchRequest& search, std::string base)
    : limit_(search.limit), elements_(ElementsOf(search, base)) {}

SearchAnswer::~SearchAnswer() = default;

void SearchAnswer::Add(const std::vector<std::string>& row) {
  has_more_ = rows_ == limit_;
  if (has_more_) return;
  text_ += rows_ > 0 ? ",{" : "{";
  for (Element& element : elements_) {
    if (text_.back() != '{') text_ += ',';
    text_ += element.TextFor(row);
  }
  text_ += '}';
  ++rows_;
}

std::string SearchAnswer::TakeText() {
  text_ += ']';
  return std::move(text_);
}

}  // namespace isocenter::dicomweb
