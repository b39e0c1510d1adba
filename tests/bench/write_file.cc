#include "tests/bench/write_file.h"

#include <fstream>

#include "absl/strings/str_cat.h"

namespace isocenter::bench {

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path));
}

}  // namespace isocenter::bench
