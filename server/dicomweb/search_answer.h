// What a search has found, in the DICOM JSON Model. Source: DICOM PS3.18, annex F.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/dicomweb/search_request.h"

namespace isocenter::dicomweb {

/// An array with an object for each row, which grows with each of them.
class SearchAnswer {
 public:
  /// `search` outlives it. `base`: see BaseUrl().
  SearchAnswer(const SearchRequest& search, std::string base);
  ~SearchAnswer();
  SearchAnswer(const SearchAnswer&) = delete;
  SearchAnswer& operator=(const SearchAnswer&) = delete;

  /// `row`: the values of `search.returned`. After `search.limit` rows, one more only shows that
  /// there is more.
  void Add(const std::vector<std::string>& row);

  int64_t rows() const { return rows_; }
  bool has_more() const { return has_more_; }
  /// All of it, at the end.
  std::string TakeText();

 private:
  class Element;
  static std::vector<Element> ElementsOf(const SearchRequest& search, const std::string& base);

  const int64_t limit_;
  std::vector<Element> elements_;  // of each object, in the order of their keys
  std::string text_ = "[";
  int64_t rows_ = 0;
  bool has_more_ = false;
};

}  // namespace isocenter::dicomweb
