// Files that gzip has compressed, written front to back.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/formats/file.h"

namespace isocenter::formats {

/// An OutputFile of gzip data (RFC 1952) of what is written, in 256 KiB of memory and what deflate
/// needs. It has neither name nor time in it: the same bytes make the same file. Compressed as fast
/// as zlib can (level 1), which for voxels of floats with noise is nearly as small as its best. Not
/// thread-safe.
class GzipFile {
 public:
  /// Errors: those of OutputFile; RESOURCE_EXHAUSTED (memory).
  static absl::StatusOr<GzipFile> Create(const std::filesystem::path& path);
  /// Errors: those of OutputFile.
  absl::Status Write(std::span<const std::byte> bytes);
  absl::Status Commit();

 private:
  struct End {
    void operator()(z_stream* stream) const;
  };

  explicit GzipFile(OutputFile file);
  /// Deflates what the stream was given, and with Z_FINISH what it has kept.
  absl::Status Deflate(int flush);

  OutputFile file_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<z_stream, End> stream_;
};

}  // namespace isocenter::formats
