#include "server/roles/openid/web_client.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/web_client/web_client.h"

namespace isocenter::openid {
namespace {

absl::StatusOr<WebAnswer> Ask(const WebRequest& request, const std::string& ca_file) {
  web::Request asked{.url = request.url,
                     .user = request.user,
                     .password = request.password,
                     .most_bytes = request.most_bytes,
                     .limit = kLongestAnswer};
  if (!request.form.empty()) {
    asked.headers = {"Content-Type: application/x-www-form-urlencoded"};
    asked.body = web::BodyOf(request.form);
  }
  absl::StatusOr<web::Answer> answer = web::Ask(asked, {.ca_file = ca_file});
  if (!answer.ok()) {
    return absl::Status(answer.status().code(),
                        absl::StrCat(request.url, ": ", answer.status().message()));
  }
  return WebAnswer{.status = answer->status, .body = std::move(answer->body)};
}

}  // namespace

Fetch MakeWebClient(std::string ca_file) {
  return
      [ca_file = std::move(ca_file)](const WebRequest& request) { return Ask(request, ca_file); };
}

std::string EncodeForm(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded.push_back(c);
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace isocenter::openid
