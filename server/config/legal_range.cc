#include "server/config/legal_range.h"

#include <google/protobuf/message.h>

#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/config/protocol_book.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Sets a number to one that no check lets through. False: it is none.
bool SetBeyond(Message& message, const FieldDescriptor& field) {
  if (field.is_repeated()) return false;
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      reflection.SetUInt32(&message, &field, std::numeric_limits<uint32_t>::max());
      return true;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection.SetUInt64(&message, &field, std::numeric_limits<uint64_t>::max());
      return true;
    case FieldDescriptor::CPPTYPE_INT32:
      reflection.SetInt32(&message, &field, std::numeric_limits<int32_t>::max());
      return true;
    case FieldDescriptor::CPPTYPE_INT64:
      reflection.SetInt64(&message, &field, std::numeric_limits<int64_t>::max());
      return true;
    case FieldDescriptor::CPPTYPE_FLOAT:
      reflection.SetFloat(&message, &field, std::numeric_limits<float>::max());
      return true;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      reflection.SetDouble(&message, &field, std::numeric_limits<double>::max());
      return true;
    default:
      return false;
  }
}

bool SetBeyond(Message& root, const std::vector<std::string>& path) {
  Message* message = &root;
  for (size_t i = 0; i < path.size(); ++i) {
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(path[i]);
    if (field == nullptr) return false;
    if (i + 1 == path.size()) return SetBeyond(*message, *field);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return false;
    const auto& reflection = *message->GetReflection();
    message = field->is_repeated() ? reflection.AddMessage(message, field)
                                   : reflection.MutableMessage(message, field);
  }
  return false;
}

/// "dicom_node.peer[0].port is .." without the indices.
std::string WithoutIndices(absl::string_view text) {
  std::string plain;
  bool within = false;
  for (const char c : text) {
    if (c == '[') within = true;
    if (!within) plain.push_back(c);
    if (c == ']') within = false;
  }
  return plain;
}

std::string RangeIn(const absl::Status& refused, const std::string& path) {
  for (absl::string_view line : absl::StrSplit(refused.message(), '\n')) {
    std::string told = WithoutIndices(line);
    if (absl::StartsWith(told, "protocol '': ")) told.replace(0, 13, "protocol.");
    if (!absl::StartsWith(told, absl::StrCat(path, " is "))) continue;
    const size_t legal = told.find("; legal is ");
    if (legal == std::string::npos) continue;
    const std::string range = told.substr(legal + 11);
    if (absl::ascii_isdigit(range[0]) || range[0] == '-') return range;
  }
  return "";
}

}  // namespace

std::string LegalRange(const std::string& path) {
  v1::ServerConfig config;
  if (!SetBeyond(config, absl::StrSplit(path, '.'))) return "";
  ApplyDefaults(config);
  std::string range = RangeIn(ValidateServerConfig(config), path);
  return range.empty() ? RangeIn(ProtocolBook::Make(config).status(), path) : range;
}

}  // namespace isocenter::config
