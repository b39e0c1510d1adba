#include "server/config/places.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// A value of a field that no default is.
void SetSomething(Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? reflection.AddString(&message, &field, "odd")
                      : reflection.SetString(&message, &field, "odd");
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? reflection.AddBool(&message, &field, true)
                      : reflection.SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* value = field.enum_type()->value(field.enum_type()->value_count() - 1);
      return repeated ? reflection.AddEnum(&message, &field, value)
                      : reflection.SetEnum(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? reflection.AddDouble(&message, &field, 7.25)
                      : reflection.SetDouble(&message, &field, 7.25);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return repeated ? reflection.AddFloat(&message, &field, 7.25F)
                      : reflection.SetFloat(&message, &field, 7.25F);
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection.AddInt32(&message, &field, 7)
                      : reflection.SetInt32(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? reflection.AddUInt32(&message, &field, 7)
                      : reflection.SetUInt32(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_INT64:
      return repeated ? reflection.AddInt64(&message, &field, 7)
                      : reflection.SetInt64(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_UINT64:
      return repeated ? reflection.AddUInt64(&message, &field, 7)
                      : reflection.SetUInt64(&message, &field, 7);
    default:
      FAIL() << field.full_name();
  }
}

/// Calls `with` with the path of every field that holds a value, and with `whole`, in which it is
/// all that is set. `message` is the part of `whole` at `path`.
void ForEachField(v1::ServerConfig& whole, Message& message, const std::string& path,
                  const std::function<void(const std::string& path)>& with) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const std::string at = absl::StrCat(path, path.empty() ? "" : ".", field.name());
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      SetSomething(message, field);
      with(at);
      if (field.is_repeated()) with(at + "[0]");
    } else if (field.is_repeated()) {
      ForEachField(whole, *message.GetReflection()->AddMessage(&message, &field), at + "[0]", with);
    } else {
      ForEachField(whole, *message.GetReflection()->MutableMessage(&message, &field), at, with);
    }
    message.GetReflection()->ClearField(&message, &field);
  }
}

// Whoever adds a field, and whatever is said of it, has its line.
TEST(Places, EveryFieldHasItsLine) {
  int fields = 0;
  v1::ServerConfig config;
  ForEachField(config, config, "", [&](const std::string& path) {
    ++fields;
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(config, &text));
    // On line 2 or below, as no line at all would be the first.
    text = "# A site.\n" + text;
    const int line = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n')) -
                     static_cast<int>(std::count(path.begin(), path.end(), '.'));
    v1::ServerConfig holds = config;
    ApplyDefaults(holds);
    const auto placed = [&](const std::string& complaint) {
      return std::string(
          WithPlaces(absl::InvalidArgumentError(complaint), text, "site.txt", holds).message());
    };
    for (const char* said :
         {" is odd; legal is even", " has a; legal is b", ": legal is a", "'s use"}) {
      EXPECT_EQ(placed(path + said), absl::StrCat("site.txt:", line - 1, ": ", path, said));
    }
  });
  EXPECT_GT(fields, 150);
}

TEST(Places, OfTwoListenersOnOnePortTheOneThatTheFileNamesIsToBlame) {
  const auto placed = [](const std::string& text) {
    auto config = ParseServerConfig(text, "site.txt");
    EXPECT_TRUE(config.ok()) << config.status();
    ApplyDefaults(*config);
    return std::string(
        WithPlaces(ValidateServerConfig(*config), text, "site.txt", *config).message());
  };
  EXPECT_EQ(placed("metrics_address: \"127.0.0.1:8080\""),
            "site.txt:1: metrics_address is '127.0.0.1:8080'; legal is another port than that of "
            "web.address");
  EXPECT_EQ(placed("\nweb { address: \"127.0.0.1:9464\" }"),
            "site.txt:2: web.address is '127.0.0.1:9464'; legal is another port than that of "
            "metrics_address");
  EXPECT_EQ(placed("grpc_address: \"127.0.0.1:8080\""),
            "site.txt:1: grpc_address is '127.0.0.1:8080'; legal is another port than that of "
            "web.address");
}

}  // namespace
}  // namespace isocenter::config
