#include "tests/attack/target.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/crypto/digests.h"

namespace isocenter::testing {
namespace {

constexpr std::pair<Role, const char*> kRoles[] = {{Role::kViewer, "viewer"},
                                                   {Role::kConsole, "console"},
                                                   {Role::kOtherConsole, "console"},
                                                   {Role::kAdministrator, "administrator"}};

void WritePrivately(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

std::filesystem::path TokenFile(const std::filesystem::path& directory, Role role) {
  return directory / absl::StrCat("token-", static_cast<int>(role));
}

}  // namespace

std::string Target::Token(Role role) {
  return absl::StrCat("0123456789abcdef0123456789abcdef-", static_cast<int>(role));
}

Target::Target() : web_port_(PortForRestarts()), dicom_port_(PortForRestarts()) {
  const std::filesystem::path& directory = directory_.path();
  std::string tokens;
  for (const auto& [role, name] : kRoles) {
    absl::StrAppend(&tokens, name, " ", crypto::Sha256Hex(Token(role)), " caller ",
                    static_cast<int>(role), "\n");
    WritePrivately(TokenFile(directory, role), Token(role));
  }
  WritePrivately(directory / "tokens", tokens);
  std::filesystem::create_directory(audit_directory());
  WritePrivately(directory / "config.textproto",
                 absl::StrCat("web { address: \"127.0.0.1:", web_port_, "\" tokens_file: \"",
                              (directory / "tokens").string(), "\" }\n",
                              "dicom_node { address: \"127.0.0.1\" port: ", dicom_port_, " }\n",
                              "audit { file: \"", audit_directory(), "/audit.jsonl\" }\n"));
  daemon_ = std::make_unique<Daemon>(
      (directory / "archive").string(),
      std::vector<std::string>{absl::StrCat("--config=", (directory / "config.textproto").string()),
                               absl::StrCat("--web_address=127.0.0.1:", web_port_),
                               absl::StrCat("--dicom_port=", dicom_port_), "--threads=2",
                               "--log_level=off"});
}

std::string Target::audit_directory() const { return (directory_.path() / "audit").string(); }

client::ServiceChannel Target::Channel(Role role) const {
  client::ServerAddress address{.address = daemon_->grpc_address()};
  if (role != Role::kNone) address.token_file = TokenFile(directory_.path(), role).string();
  return *client::ServiceChannel::Open(address);
}

}  // namespace isocenter::testing
