// The files of the operator page.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "server/http/transport/http.h"

namespace isocenter::http {

/// Read once into memory: a request can only name what was found then. Thread-safe.
class Page {
 public:
  static constexpr size_t kMostBytes = 64 << 20;

  /// An empty path, or one without index.html: a notice that the page was not built. Errors:
  /// RESOURCE_EXHAUSTED (the files are larger than 64 MiB), INTERNAL (a file cannot be read).
  static absl::StatusOr<Page> Load(const std::filesystem::path& directory);

  /// What is not there is answered to browsers with the documentation's page of pages that are not
  /// there, where there is one, which leads on; to programs as an error.
  Response Answer(const Request& request) const;

 private:
  struct File {
    std::string content, packed;  // packed: with gzip; empty: it is not there
    std::string type, tag;
    bool immutable = false;  // its name changes with its content
  };

  Response NotFound(const Request& request) const;

  std::map<std::string, File> files_;  // by path: "/index.html"
  std::string not_found_;              // a page; kWayUp stands for the way to the documentation
};

}  // namespace isocenter::http
