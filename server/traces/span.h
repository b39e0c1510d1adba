// A piece of work, as a trace shows it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace isocenter::traces {

using Value = std::variant<std::string, int64_t, double>;

struct Span {
  std::string trace_id, span_id;
  std::string parent_span_id;  // empty: the first of its trace
  std::string name;
  absl::Time begin, end;
  bool is_request = false;                                // somebody outside asked for it
  std::vector<std::pair<std::string, Value>> attributes;  // of no patient
  std::string error;                                      // empty: none
};

}  // namespace isocenter::traces
