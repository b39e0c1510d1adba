// Files as bytes: exact reads, and writes that appear only when they are complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace isocenter::formats {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, FileCloser>;

/// A regular file that is read at given offsets. Not thread-safe.
class InputFile {
 public:
  /// Errors: NOT_FOUND, INVALID_ARGUMENT (a directory, a pipe, a device),
  /// PERMISSION_DENIED.
  static absl::StatusOr<InputFile> Open(const std::filesystem::path& path);

  uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }
  /// Fills `bytes` from `offset`. Errors: DATA_LOSS when the file ends before.
  absl::Status ReadAt(uint64_t offset, std::span<std::byte> bytes);

 private:
  FileHandle file_;
  std::string name_;
  uint64_t size_ = 0;
};

/// A file that is written front to back under a temporary name and renamed by Commit; without
/// Commit nothing is left. It replaces what was there at Create, and nothing that came since. Not
/// thread-safe.
class OutputFile {
 public:
  /// Errors: NOT_FOUND (no such directory), PERMISSION_DENIED, INTERNAL.
  static absl::StatusOr<OutputFile> Create(const std::filesystem::path& path);
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Errors: RESOURCE_EXHAUSTED (disk full), INTERNAL; of Commit also ALREADY_EXISTS.
  absl::Status Write(std::span<const std::byte> bytes);
  absl::Status Commit();

 private:
  /// Of a name that RemovePartialFiles must no longer know.
  struct Forget {
    void operator()(char* name) const;
  };

  OutputFile() = default;

  std::unique_ptr<char, Forget> partial_;
  FileHandle file_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  bool replaces_ = false;
};

/// What stands behind the name of a file or directory that this process has not completed:
/// ".PROCESS.part".
std::string PartialSuffix();
/// Whether that stands behind a name, of whichever process.
bool IsPartial(const std::filesystem::path& path);

/// Removes what all OutputFiles that are not complete have written (of more than 32 at once the
/// first ones); whether there were any. For a program that ends here: it takes no lock and may be
/// called by a signal's handler.
bool RemovePartialFiles();

/// The whole of a small text file. Errors: as InputFile; INVALID_ARGUMENT above `limit_bytes`.
absl::StatusOr<std::string> ReadText(const std::filesystem::path& path, uint64_t limit_bytes);
absl::Status WriteText(const std::filesystem::path& path, const std::string& text);

}  // namespace isocenter::formats
