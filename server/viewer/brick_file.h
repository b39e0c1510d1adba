// A volume in a form whose planes are read quickly along every axis and at every size: int16
// Hounsfield units in bricks of 32³ voxels, and halved again and again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/viewer/plane.h"
#include "server/viewer/raw_volume.h"

namespace isocenter::viewer {

/// A file of bricks, of one run of the service: level after level, in each [z][y][x] of bricks, in
/// each brick [z][y][x] of voxels; bricks at the ends are filled with zeros. Thread-safe.
class BrickFile {
 public:
  static constexpr int kEdge = 32;  // voxels of a brick along each axis
  static constexpr int64_t kBrickBytes = int64_t{kEdge} * kEdge * kEdge * 2;

  static int64_t BytesOf(const Extent& extent);

  /// Reads the volume once, in pieces of a few MB, and writes `path`, which must not exist. A voxel
  /// of a level is the rounded mean of those of 2x2x2 that the one before has. `go_on` is asked
  /// between pieces. What was begun is removed. Errors: CANCELLED, RESOURCE_EXHAUSTED (disk full),
  /// DATA_LOSS, INTERNAL.
  static absl::StatusOr<BrickFile> Build(const RawVolume& volume, const std::filesystem::path& path,
                                         const std::function<bool()>& go_on);

  const std::vector<Extent>& levels() const { return levels_; }
  /// The least and the largest value of level 0.
  int16_t least() const { return least_; }
  int16_t largest() const { return largest_; }

  /// Reads the bricks that the plane goes through: 64 KiB for 1024 voxels of it; axial planes less.
  /// Errors: INVALID_ARGUMENT (level or index), DATA_LOSS, INTERNAL.
  absl::StatusOr<Plane> ReadPlane(int level, Axis axis, int index) const;

 private:
  friend class BrickWriter;
  BrickFile(InputFile file, std::vector<Extent> levels, int16_t least, int16_t largest)
      : file_(std::move(file)), levels_(std::move(levels)), least_(least), largest_(largest) {}

  InputFile file_;
  std::vector<Extent> levels_;
  int16_t least_, largest_;
};

}  // namespace isocenter::viewer
