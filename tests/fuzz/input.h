// What fuzz targets share: parts of an input, files made of them, and what must hold.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::fuzz {

/// Ends the process, which libFuzzer reports with the input.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// An input that is read front to back; behind its end are zeros.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  absl::string_view Take(size_t bytes) {
    const absl::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  template <class T>
  T TakeNumber() {
    T value{};
    const absl::string_view taken = Take(sizeof value);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  /// Up to the next NUL, which is left out.
  absl::string_view TakeText() {
    const absl::string_view text = Take(std::min(rest_.find('\0'), rest_.size()));
    Take(1);
    return text;
  }
  absl::string_view TakeRest() { return Take(rest_.size()); }
  bool empty() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

/// A directory that is removed at the end of the process.
inline const std::filesystem::path& Directory() {
  static const struct Made {
    Made() {
      std::string name = std::filesystem::temp_directory_path() / "isocenter-fuzz-XXXXXX";
      path = mkdtemp(name.data());
    }
    ~Made() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
  } made;
  return made.path;
}

/// A file there.
inline std::filesystem::path FileOf(absl::string_view bytes, const std::string& name = "input") {
  const std::filesystem::path path = Directory() / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}
inline std::filesystem::path FileOf(const uint8_t* data, size_t size) {
  return FileOf({reinterpret_cast<const char*>(data), size});
}

}  // namespace isocenter::fuzz
