// Each field of a configuration, spoiled alone: what is refused says the line.
#include "server/config/places.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

/// Values that some check may refuse.
std::vector<std::string> SpoiledValues(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
      return {"-1", "2147483647", "1"};
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return {"4294967295", "1"};
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {"-1", "1e30", "nan"};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {"true"};
    case FieldDescriptor::CPPTYPE_ENUM:
      return {field.enum_type()->value(0)->name(),
              field.enum_type()->value(field.enum_type()->value_count() - 1)->name()};
    case FieldDescriptor::CPPTYPE_STRING:
      return {"\"\\001?\"", "\"0.0.0.0:70000\"", "\"http://x y\""};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return {};
}

/// Texts that set one field, each on a line of its own: FIELD { .. VALUE .. }.
void ForEachSpoiled(
    const Descriptor& type, const std::string& path, const std::string& before,
    const std::string& after,
    const std::function<void(const std::string& path, const std::string& text)>& visit) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string name = absl::StrCat(path, path.empty() ? "" : ".", field.name(),
                                          field.is_repeated() ? "[0]" : "");
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (absl::StrContains(before, absl::StrCat(field.name(), " {"))) continue;  // of itself
      ForEachSpoiled(*field.message_type(), name, absl::StrCat(before, field.name(), " {\n"),
                     absl::StrCat("}\n", after), visit);
      continue;
    }
    for (const std::string& value : SpoiledValues(field)) {
      visit(name, absl::StrCat(before, field.name(), ": ", value, "\n", after));
    }
  }
}

TEST(Places, WhatOneFieldSpoilsHasItsLine) {
  int refused = 0;
  std::set<std::string> without;
  ForEachSpoiled(*v1::ServerConfig::descriptor(), "", "", "",
                 [&](const std::string& path, const std::string& text) {
                   auto config = ParseServerConfig(text, "site.txt");
                   if (!config.ok()) return;  // says the place by itself
                   ApplyDefaults(*config);
                   const absl::Status status = ValidateServerConfig(*config);
                   if (status.ok()) return;
                   ++refused;
                   const absl::Status placed = WithPlaces(status, text, "site.txt", *config);
                   for (const auto line : absl::StrSplit(placed.message(), '\n')) {
                     if (absl::StartsWith(line, "site.txt:")) continue;
                     without.insert(absl::StrCat(path, ": ", line));
                   }
                 });
  EXPECT_GT(refused, 100);
  EXPECT_THAT(without, ::testing::IsEmpty());
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
