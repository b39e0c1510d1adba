// A stored volume: float32 little-endian HU, [z][y][x], nothing else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/viewer/plane.h"

namespace isocenter::viewer {

/// An open file that is only read. Move-only. Thread-safe.
class InputFile {
 public:
  /// Errors: NOT_FOUND, INTERNAL.
  static absl::StatusOr<InputFile> Open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// All of `into`. Errors: DATA_LOSS (the file ends before), INTERNAL (the disk's error).
  absl::Status ReadAt(int64_t offset, std::span<std::byte> into) const;
  int descriptor() const { return descriptor_; }

 private:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// Thread-safe.
class RawVolume {
 public:
  /// Errors: NOT_FOUND, DATA_LOSS (its length is not that of the extent), INTERNAL.
  static absl::StatusOr<RawVolume> Open(const std::filesystem::path& path, const Extent& extent);

  const Extent& extent() const { return extent_; }
  /// Another one when the file was replaced: 16 hexadecimal digits.
  const std::string& version() const { return version_; }

  /// Values of `rows` rows from (z, y) on, of one slice; `into` has nx · rows.
  absl::Status ReadRows(int z, int y, int rows, std::span<float> into) const;
  /// An axial or coronal plane: one read, or one for each slice. A sagittal one would read all of
  /// the volume. Errors: INVALID_ARGUMENT (the index; a sagittal plane), DATA_LOSS, INTERNAL.
  absl::StatusOr<Plane> ReadPlane(Axis axis, int index) const;

 private:
  RawVolume(InputFile file, const Extent& extent, std::string version)
      : file_(std::move(file)), extent_(extent), version_(std::move(version)) {}
  InputFile file_;
  Extent extent_;
  std::string version_;
};

}  // namespace isocenter::viewer
