// The services of the wire contract.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "google/protobuf/descriptor.h"

namespace isocenter::testing {

/// As the files of proto/ in the source tree declare them.
inline std::vector<const google::protobuf::ServiceDescriptor*> ContractServices() {
  std::vector<const google::protobuf::ServiceDescriptor*> services;
  const std::filesystem::path root = ISOCENTER_SOURCE_DIR "/proto";
  for (const auto& entry : std::filesystem::directory_iterator(root / "isocenter/v1")) {
    // A file of messages that no server links has no descriptor here.
    std::ifstream source(entry.path());
    const std::string text(std::istreambuf_iterator<char>(source), {});
    if (!absl::StrContains(text, "\nservice ")) continue;
    // Served only by a node that keeps others' copies, to these alone: tests/server/replicas.
    if (entry.path().filename() == "replicas.proto") continue;
    const auto* file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
        std::filesystem::relative(entry.path(), root).string());
    EXPECT_NE(file, nullptr) << entry.path();
    for (int i = 0; file != nullptr && i < file->service_count(); ++i) {
      services.push_back(file->service(i));
    }
  }
  EXPECT_GE(services.size(), 7u);
  return services;
}

inline std::vector<const google::protobuf::MethodDescriptor*> ContractMethods() {
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  for (const auto* service : ContractServices()) {
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

}  // namespace isocenter::testing
