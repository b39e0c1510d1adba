#include "server/config/places.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace isocenter::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

struct Step {
  std::string field;
  int index = -1;  // of a repeated field
};

/// "peer[1]"
std::optional<Step> StepOf(absl::string_view word) {
  Step step;
  const size_t open = word.find('[');
  step.field = std::string(word.substr(0, open));
  if (open == absl::string_view::npos) return step;
  absl::string_view index = word.substr(open + 1);
  if (!absl::ConsumeSuffix(&index, "]") || !absl::SimpleAtoi(index, &step.index)) {
    return std::nullopt;
  }
  return step;
}

/// The fields that a line begins with, from the outermost; empty of other lines.
std::vector<Step> PathOf(absl::string_view line, const v1::ServerConfig& config) {
  std::vector<Step> path;
  if (absl::ConsumePrefix(&line, "protocol '")) {
    for (int i = 0; i < config.protocol_size() && path.empty(); ++i) {
      if (absl::ConsumePrefix(&line, absl::StrCat(config.protocol(i).name(), "': "))) {
        path.push_back({"protocol", i});
      }
    }
    if (path.empty()) return {};
  }
  const absl::string_view fields = line.substr(0, line.find_first_of(" :'"));
  for (const absl::string_view word : absl::StrSplit(fields, '.')) {
    std::optional<Step> step = StepOf(word);
    if (!step) break;
    path.push_back(*std::move(step));
  }
  return path;
}

std::string ValueOf(const Message& message, const FieldDescriptor& field, int index) {
  std::string value;
  TextFormat::PrintFieldValueToString(message, &field, index, &value);
  return value;
}

/// Follows a path through what the file says and through what holds.
class Walk {
 public:
  Walk(const TextFormat::ParseInfoTree& tree, const Message& file, const Message& holds)
      : tree_(&tree), file_(&file), holds_(&holds) {}

  /// The line, from 0, of the field at the end of the path; -1 where the file is not to blame.
  int LineOf(const std::vector<Step>& path) {
    for (const Step& step : path) {
      const FieldDescriptor* field = file_->GetDescriptor()->FindFieldByName(step.field);
      if (field == nullptr) return line_;  // a word that is no field: of the block before it
      // Of a list as a whole the place is that of its first.
      const int index = field->is_repeated() ? std::max(step.index, 0) : -1;
      if (field->is_repeated() &&
          (index >= Size(*file_, *field) || index >= Size(*holds_, *field))) {
        return -1;
      }
      const int line = tree_->GetLocation(field, index).line;
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
        return OfValue(*field, index, line);
      if (line < 0) return -1;
      line_ = line;
      tree_ = tree_->GetTreeForNested(field, index);
      if (tree_ == nullptr) return line_;
      file_ = &Below(*file_, *field, index);
      holds_ = &Below(*holds_, *field, index);
    }
    return line_;
  }

 private:
  static int Size(const Message& message, const FieldDescriptor& field) {
    return message.GetReflection()->FieldSize(message, &field);
  }
  static const Message& Below(const Message& message, const FieldDescriptor& field, int index) {
    return index < 0 ? message.GetReflection()->GetMessage(message, &field)
                     : message.GetReflection()->GetRepeatedMessage(message, &field, index);
  }
  int OfValue(const FieldDescriptor& field, int index, int line) const {
    const std::string holds = ValueOf(*holds_, field, index);
    if (line < 0) return holds == "\"\"" ? line_ : -1;
    return ValueOf(*file_, field, index) == holds ? line : -1;
  }

  const TextFormat::ParseInfoTree* tree_;
  const Message* file_;
  const Message* holds_;
  int line_ = -1;  // of the innermost block
};

}  // namespace

absl::Status WithPlaces(const absl::Status& refused, const std::string& text,
                        const std::string& file, const v1::ServerConfig& config) {
  if (refused.ok()) return refused;
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.WriteLocationsTo(&tree);
  v1::ServerConfig said;
  if (!parser.ParseFromString(std::string(absl::StripPrefix(text, "\xEF\xBB\xBF")), &said)) {
    return refused;
  }
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(refused.message(), '\n')) {
    const std::vector<Step> path = PathOf(line, said);
    const int place = path.empty() ? -1 : Walk(tree, said, config).LineOf(path);
    lines.push_back(place < 0 ? std::string(line) : absl::StrCat(file, ":", place + 1, ": ", line));
  }
  return absl::Status(refused.code(), absl::StrJoin(lines, "\n"));
}

}  // namespace isocenter::config
