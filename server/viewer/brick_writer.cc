// How a file of bricks is made.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/storage/files.h"
#include "server/viewer/brick_file.h"
#include "server/viewer/brick_layout.h"

namespace isocenter::viewer {
namespace {

constexpr int kEdge = BrickFile::kEdge;
constexpr size_t kBrickVoxels = size_t{kEdge} * kEdge * kEdge;

}  // namespace

class BrickWriter {
 public:
  BrickWriter(const RawVolume& volume, storage::OutputFile& file, const InputFile& written,
              const std::function<bool()>& go_on)
      : volume_(volume),
        file_(file),
        written_(written),
        go_on_(go_on),
        levels_(LevelsOf(volume.extent())) {}

  absl::Status Write() {
    ISO_RETURN_IF_ERROR(WriteVolume());
    for (int level = 1; level < static_cast<int>(levels_.size()); ++level) {
      ISO_RETURN_IF_ERROR(Halve(level));
    }
    return absl::OkStatus();
  }

  BrickFile Take(InputFile file) && {
    return BrickFile(std::move(file), std::move(levels_), least_, largest_);
  }

 private:
  /// A row of bricks at a time.
  absl::Status WriteVolume() {
    const Extent& extent = levels_[0];
    const int across = BricksAlong(extent.nx);
    std::vector<float> rows(size_t{kEdge} * extent.nx);
    std::vector<int16_t> bricks;
    for (int bz = 0; bz < BricksAlong(extent.nz); ++bz) {
      for (int by = 0; by < BricksAlong(extent.ny); ++by) {
        if (!go_on_()) return Cancelled();
        bricks.assign(across * kBrickVoxels, 0);
        const int depth = std::min(kEdge, extent.nz - bz * kEdge);
        const int height = std::min(kEdge, extent.ny - by * kEdge);
        for (int z = 0; z < depth; ++z) {
          ISO_RETURN_IF_ERROR(volume_.ReadRows(bz * kEdge + z, by * kEdge, height, rows));
          for (int y = 0; y < height; ++y) {
            for (int x = 0; x < extent.nx; ++x) {
              const int16_t value = ToInt16(rows[size_t{1} * y * extent.nx + x]);
              least_ = std::min(least_, value);
              largest_ = std::max(largest_, value);
              bricks[x / kEdge * kBrickVoxels + (size_t{1} * z * kEdge + y) * kEdge + x % kEdge] =
                  value;
            }
          }
        }
        ISO_RETURN_IF_ERROR(
            file_.WriteAt(BrickOffset(levels_, 0, 0, by, bz), std::as_bytes(std::span(bricks))));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Halve(int level) {
    const Extent& extent = levels_[level];
    for (int bz = 0; bz < BricksAlong(extent.nz); ++bz) {
      for (int by = 0; by < BricksAlong(extent.ny); ++by) {
        if (!go_on_()) return Cancelled();
        for (int bx = 0; bx < BricksAlong(extent.nx); ++bx) {
          ISO_RETURN_IF_ERROR(HalveInto(level, bx, by, bz));
        }
      }
    }
    return absl::OkStatus();
  }

  /// One brick from the up to eight that it covers.
  absl::Status HalveInto(int level, int bx, int by, int bz) {
    const Extent& finer = levels_[level - 1];
    std::vector<int32_t> sums(kBrickVoxels, 0);
    std::vector<uint8_t> counts(kBrickVoxels, 0);
    std::vector<int16_t> source(kBrickVoxels);
    for (int part = 0; part < 8; ++part) {
      const int sx = 2 * bx + (part & 1), sy = 2 * by + (part >> 1 & 1), sz = 2 * bz + (part >> 2);
      if (sx >= BricksAlong(finer.nx) || sy >= BricksAlong(finer.ny) ||
          sz >= BricksAlong(finer.nz)) {
        continue;
      }
      ISO_RETURN_IF_ERROR(written_.ReadAt(BrickOffset(levels_, level - 1, sx, sy, sz),
                                          std::as_writable_bytes(std::span(source))));
      const int width = std::min(kEdge, finer.nx - sx * kEdge);
      const int height = std::min(kEdge, finer.ny - sy * kEdge);
      const int depth = std::min(kEdge, finer.nz - sz * kEdge);
      for (int z = 0; z < depth; ++z) {
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            const int tx = (sx % 2 * kEdge + x) / 2, ty = (sy % 2 * kEdge + y) / 2,
                      tz = (sz % 2 * kEdge + z) / 2;
            const size_t to = (size_t{1} * tz * kEdge + ty) * kEdge + tx;
            sums[to] += source[(size_t{1} * z * kEdge + y) * kEdge + x];
            ++counts[to];
          }
        }
      }
    }
    std::vector<int16_t>& mean = source;
    for (size_t i = 0; i < kBrickVoxels; ++i) {
      mean[i] = counts[i] == 0 ? 0 : ToInt16(static_cast<float>(sums[i]) / counts[i]);
    }
    return file_.WriteAt(BrickOffset(levels_, level, bx, by, bz), std::as_bytes(std::span(mean)));
  }

  static absl::Status Cancelled() {
    return absl::CancelledError("the preparation of a volume for viewing was interrupted");
  }

  const RawVolume& volume_;
  storage::OutputFile& file_;
  const InputFile& written_;
  const std::function<bool()>& go_on_;
  std::vector<Extent> levels_;
  int16_t least_ = 32767, largest_ = -32767;
};

absl::StatusOr<BrickFile> BrickFile::Build(const RawVolume& volume,
                                           const std::filesystem::path& path,
                                           const std::function<bool()>& go_on) {
  ISO_ASSIGN_OR_RETURN(
      storage::OutputFile file,
      storage::OutputFile::Create(path, static_cast<uint64_t>(BytesOf(volume.extent()))));
  ISO_ASSIGN_OR_RETURN(InputFile written, InputFile::Open(path));
  BrickWriter writer(volume, file, written, go_on);
  const absl::Status done = writer.Write();
  if (!done.ok()) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return done;
  }
  return std::move(writer).Take(std::move(written));
}

}  // namespace isocenter::viewer
