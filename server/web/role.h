// Who may do what.
#pragma once

#include "absl/strings/string_view.h"

namespace isocenter::web {

/// Each may what those before it may. docs/web-api.md says what.
enum class Role { kViewer, kOperator, kAdministrator };

/// "viewer", ...
constexpr absl::string_view Name(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kOperator:
      return "operator";
    case Role::kAdministrator:
      return "administrator";
  }
  return "unknown";
}

}  // namespace isocenter::web
