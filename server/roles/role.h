// Who may do what.
#pragma once

#include "absl/strings/string_view.h"

namespace isocenter::roles {

/// Each may what those before it may. docs/security.md says what, on gRPC and on the web.
enum class Role { kViewer, kConsole, kOperator, kAdministrator };

inline constexpr Role kAllRoles[] = {Role::kViewer, Role::kConsole, Role::kOperator,
                                     Role::kAdministrator};

/// "viewer", ...
constexpr absl::string_view Name(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kConsole:
      return "console";
    case Role::kOperator:
      return "operator";
    case Role::kAdministrator:
      return "administrator";
  }
  return "unknown";
}

}  // namespace isocenter::roles
