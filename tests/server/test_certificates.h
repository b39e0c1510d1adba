// Authorities and certificates for tests, made by the openssl tool.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace isocenter {

/// Files NAME.pem and NAME.key in a directory.
class TestCertificates {
 public:
  explicit TestCertificates(std::filesystem::path directory) : directory_(std::move(directory)) {
    std::filesystem::create_directories(directory_);
  }
  std::string Pem(const std::string& name) const { return Path(name, ".pem"); }
  std::string Key(const std::string& name) const { return Path(name, ".key"); }

  void MakeAuthority(const std::string& name) const {
    Run(absl::StrCat("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=", name, " -keyout ",
                     Key(name), " -out ", Pem(name)));
  }
  /// Signed by an authority; for 127.0.0.1, unless `host` names another address. `days` below 0 is
  /// expired. `usage`: its extended key usage; empty: it has none.
  void Make(const std::string& name, const std::string& authority, int days = 2,
            const std::string& host = "127.0.0.1", const std::string& usage = "") const {
    const std::string request = Path(name, ".csr"), extension = Path(name, ".ext");
    std::ofstream(extension) << "subjectAltName=IP:" << host << "\n"
                             << (usage.empty() ? "" : "extendedKeyUsage=" + usage + "\n");
    Run(absl::StrCat("req -newkey rsa:2048 -nodes -subj /O=Hospital/CN=", name, " -keyout ",
                     Key(name), " -out ", request));
    Run(absl::StrCat("x509 -req -in ", request, " -CA ", Pem(authority), " -CAkey ", Key(authority),
                     " -CAcreateserial -days ", days, " -extfile ", extension, " -out ",
                     Pem(name)));
  }

 private:
  std::string Path(const std::string& name, const char* suffix) const {
    return (directory_ / (name + suffix)).string();
  }
  static void Run(const std::string& arguments) {
    const std::string command = absl::StrCat("openssl ", arguments, " >/dev/null 2>&1");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT
  }
  const std::filesystem::path directory_;
};

}  // namespace isocenter
