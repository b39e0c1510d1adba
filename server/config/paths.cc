#include "server/config/paths.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "server/config/fields.h"

namespace isocenter::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsPath(const FieldDescriptor& field) {
  const absl::string_view name = field.name();
  return field.type() == FieldDescriptor::TYPE_STRING && !field.is_repeated() &&
         (absl::EndsWith(name, "file") || absl::EndsWith(name, "directory"));
}

/// What a shell would expand.
bool IsForAShell(absl::string_view path) {
  if (absl::StartsWith(path, "~")) return true;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const auto next = static_cast<unsigned char>(path[i + 1]);
    if (path[i] == '$' && (absl::ascii_isalpha(next) || next == '{')) return true;
  }
  return false;
}

/// With the caller's home directory in it; empty where that is not meant or not known.
std::string InHome(absl::string_view path) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return "";
  std::string meant = absl::StrReplaceAll(path, {{"$HOME", home}, {"${HOME}", home}});
  if (meant == "~" || absl::StartsWith(meant, "~/")) meant.replace(0, 1, home);
  return IsForAShell(meant) ? "" : meant;
}

void CheckBelow(const Message& message, const std::string& path, Mistakes& mistakes) {
  const google::protobuf::Reflection& read = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  read.ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const std::string name = absl::StrCat(path, field->name());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        CheckBelow(read.GetMessage(message, field), absl::StrCat(name, "."), mistakes);
        continue;
      }
      for (int i = 0; i < read.FieldSize(message, field); ++i) {
        CheckBelow(read.GetRepeatedMessage(message, field, i), absl::StrCat(name, "[", i, "]."),
                   mistakes);
      }
    }
    if (!IsPath(*field)) continue;
    const std::string value = read.GetString(message, field);
    if (!IsForAShell(value)) continue;
    const std::string meant = InHome(value);
    mistakes.Add(Illegal(
        name, absl::StrCat("'", value, "'"),
        absl::StrCat("a path without ~ and $, which only a shell replaces",
                     meant.empty() ? "" : "; did you mean ", meant, meant.empty() ? "" : "?")));
  }
}

}  // namespace

void CheckPaths(const v1::ServerConfig& config, Mistakes& mistakes) {
  CheckBelow(config, "", mistakes);
}

}  // namespace isocenter::config
