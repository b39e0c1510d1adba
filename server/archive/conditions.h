// What a query of the index asks for, as SQL: terms over patients p, studies s and series r, as
// SQLite and PostgreSQL both understand them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/archive/database.h"
#include "server/archive/records.h"

namespace isocenter::archive {

/// The terms of one WHERE clause, all of which have to hold, and their values ?1, ?2, ...
class Conditions {
 public:
  /// `mark`: what stands before a value's number.
  explicit Conditions(char mark = '?') : mark_(mark) {}
  void AddOfStudies(const Selection& selection);
  void AddOfSeries(const Selection& selection);
  /// One of a list; an empty one stands for everything. `form` turns the comparison into a term,
  /// with $0 for the comparison.
  void AddList(const char* column, const std::vector<std::string>& list, const char* form = "$0");
  void Add(std::string term) { terms_.push_back(std::move(term)); }
  /// A further value of the statement; returns its mark, "?7".
  std::string AddValue(Value value);

  /// " WHERE ..."; empty: no terms.
  std::string Where() const;
  const std::vector<Value>& values() const { return values_; }

 private:
  void AddTexts(const char* column, const std::vector<TextTerm>& texts, const char* form = "$0");
  void AddBound(const char* comparison, const std::string& bound);

  char mark_;
  std::vector<std::string> terms_;
  std::vector<Value> values_;
};

}  // namespace isocenter::archive
