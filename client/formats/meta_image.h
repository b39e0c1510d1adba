// MetaImage (.mha with the data inside, .mhd with the data beside it). docs/formats/metaimage.md.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "client/formats/element_type.h"
#include "client/formats/file.h"
#include "client/formats/volume.h"

namespace isocenter::formats {

/// What the text part of a MetaImage says.
struct MetaImageHeader {
  std::array<int64_t, 3> size{};                          // x, y, z
  std::array<double, 3> spacing{1, 1, 1};                 // mm
  std::array<double, 3> offset{};                         // mm, centre of element (0,0,0)
  std::array<double, 9> axes{1, 0, 0, 0, 1, 0, 0, 0, 1};  // row a: unit vector of index axis a
  ElementType type = ElementType::kFloat32;
  bool big_endian = false;
  bool compressed = false;
  std::filesystem::path data_path;
  uint64_t data_offset = 0;
  uint64_t stored_bytes = 0;  // from there to the end of the file
  VolumeFacts facts;

  int64_t elements() const { return size[0] * size[1] * size[2]; }
  uint64_t data_bytes() const { return uint64_t(elements()) * ElementBytes(type); }
};

/// Errors: NOT_FOUND, INVALID_ARGUMENT (not a MetaImage, an unsupported or illegal value; the tag
/// is named; more data than the size says), DATA_LOSS (fewer).
absl::StatusOr<MetaImageHeader> ReadMetaImageHeader(const std::filesystem::path& path);

/// The elements of a MetaImage as they are stored, after decompression.
class MetaImageData {
 public:
  static absl::StatusOr<std::unique_ptr<MetaImageData>> Open(const MetaImageHeader& header);
  virtual ~MetaImageData() = default;
  /// Fills `bytes` from `offset` of the uncompressed data. Compressed data can be read only
  /// forwards. Errors: DATA_LOSS, INVALID_ARGUMENT (backwards).
  virtual absl::Status Read(uint64_t offset, std::span<std::byte> bytes) = 0;
  /// After the last element that the header tells of: whether compressed data go on.
  /// Errors: DATA_LOSS (they do not end as they should).
  virtual absl::StatusOr<bool> HasMore() = 0;
};

/// Errors: as ReadMetaImageHeader.
absl::StatusOr<Volume> ReadMetaImage(const std::filesystem::path& path);

/// Writes float32 voxels in order, without holding the volume in memory.
class MetaImageWriter {
 public:
  /// `path` ends in .mha, or in .mhd (the data then go to a .raw file of the same name).
  static absl::StatusOr<MetaImageWriter> Create(const std::filesystem::path& path,
                                                const VolumeGrid& grid,
                                                const VolumeFacts& facts = {});
  /// Errors: INVALID_ARGUMENT (more voxels than the grid has), RESOURCE_EXHAUSTED, INTERNAL.
  absl::Status Append(std::span<const float> voxels);
  /// Makes the file visible. Errors: FAILED_PRECONDITION (voxels are missing).
  absl::Status Finish();

 private:
  explicit MetaImageWriter(OutputFile file) : file_(std::move(file)) {}

  OutputFile file_;
  std::optional<OutputFile> header_file_;  // of a .mhd
  int64_t missing_ = 0;
};

absl::Status WriteMetaImage(const std::filesystem::path& path, const Volume& volume);

}  // namespace isocenter::formats
