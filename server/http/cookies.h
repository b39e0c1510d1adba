// Cookies as this server sets them.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace isocenter::http {

/// kLax: also comes with a link from another site, as one that leads back from the identity
/// provider.
enum class SameSite { kStrict, kLax };

/// The value of a Set-Cookie header, which no script can read. No `age`: it goes.
inline std::string CookieText(absl::string_view name, absl::string_view value, absl::Duration age,
                              SameSite same_site, bool secure) {
  return absl::StrCat(name, "=", value, "; Path=/; HttpOnly; SameSite=",
                      same_site == SameSite::kStrict ? "Strict" : "Lax",
                      "; Max-Age=", absl::ToInt64Seconds(age), secure ? "; Secure" : "");
}

}  // namespace isocenter::http
