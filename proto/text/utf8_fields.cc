#include "proto/text/utf8_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/utf8.h"

namespace isocenter::text {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Below(const Message& message, const std::string& path) {
  const google::protobuf::Reflection& read = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  read.ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const bool is_text = field->type() == FieldDescriptor::TYPE_STRING;
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const int count = field->is_repeated() ? read.FieldSize(message, field) : 1;
    const std::string name = absl::StrCat(path, field->name());
    for (int i = 0; i < count && (is_text || is_message); ++i) {
      if (is_message) {
        const Message& part = field->is_repeated() ? read.GetRepeatedMessage(message, field, i)
                                                   : read.GetMessage(message, field);
        if (std::string wrong = Below(part, name + "."); !wrong.empty()) return wrong;
        continue;
      }
      const std::string text = field->is_repeated() ? read.GetRepeatedString(message, field, i)
                                                    : read.GetString(message, field);
      if (const std::string wrong = NotUtf8(text); !wrong.empty()) {
        return absl::StrCat(name, " is '", absl::CHexEscape(text), "', which is ", wrong);
      }
    }
  }
  return "";
}

}  // namespace

std::string NotUtf8Field(const Message& message) { return Below(message, ""); }

}  // namespace isocenter::text
