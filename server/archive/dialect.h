// In what the SQL of this node's index (SQLite) and of one that nodes share (PostgreSQL) differ.
#pragma once

#include <string>
#include <vector>

#include "server/archive/database.h"

namespace isocenter::archive {

struct Dialect {
  char mark = '?';                // before the number of a value
  std::string series = "series";  // what queries read series from, without an alias
  /// Different values of $0, with commas between them.
  std::string list = "GROUP_CONCAT(DISTINCT $0)";
  std::string node = "''";         // whose archive a series r is in
  std::vector<Value> values = {};  // that `series` needs, the first of every statement
};

/// A statement and its values.
struct Statement {
  std::string sql;
  std::vector<Value> values;
};

}  // namespace isocenter::archive
