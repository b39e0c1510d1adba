// What somebody may name instead of a certificate or a key.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace isocenter::testing {

struct WrongPemFile {
  const char* name;
  std::function<void(const std::string& path)> make;
  absl::StatusCode code;
  const char* said;  // after "which "

  /// Of a parametrized test.
  static std::string Name(const ::testing::TestParamInfo<WrongPemFile>& info) {
    return info.param.name;
  }
};

/// For INSTANTIATE_TEST_SUITE_P.
inline auto WrongPemFiles() {
  using absl::StatusCode;
  using std::filesystem::create_directory, std::filesystem::resize_file;
  return ::testing::Values(
      WrongPemFile{"missing", [](const std::string&) {}, StatusCode::kNotFound, "cannot be read"},
      WrongPemFile{"directory", [](const std::string& p) { create_directory(p); },
                   StatusCode::kInvalidArgument, "is a directory"},
      WrongPemFile{"pipe", [](const std::string& p) { ASSERT_EQ(mkfifo(p.c_str(), 0600), 0); },
                   StatusCode::kInvalidArgument, "is a pipe"},
      WrongPemFile{"large",
                   [](const std::string& p) {
                     std::ofstream(p) << "-----BEGIN CERTIFICATE-----\n";
                     resize_file(p, uint64_t{1} << 30);
                   },
                   StatusCode::kInvalidArgument, "has 1073741824 bytes"},
      WrongPemFile{"empty", [](const std::string& p) { std::ofstream make(p); },
                   StatusCode::kInvalidArgument, "is not PEM"});
}

}  // namespace isocenter::testing
