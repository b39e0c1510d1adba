#include "server/viewer/raw_volume.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "server/storage/files.h"

namespace isocenter::viewer {

static_assert(std::endian::native == std::endian::little, "values are read as they are");

absl::StatusOr<InputFile> InputFile::Open(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) return InputFile(descriptor);
  if (errno == ENOENT) return absl::NotFoundError("the volume is not stored any more");
  return storage::FileError(errno, "open", path);
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status InputFile::ReadAt(int64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = pread(descriptor_, into.data(), into.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return storage::FileError(errno, "read", "a volume");
    if (got == 0) return absl::DataLossError("a volume's file ends before its last voxel");
    into = into.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return absl::OkStatus();
}

absl::StatusOr<RawVolume> RawVolume::Open(const std::filesystem::path& path, const Extent& extent) {
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  struct stat about {};
  if (fstat(file.descriptor(), &about) != 0) return storage::FileError(errno, "stat", path);
  const int64_t expected = extent.voxels() * static_cast<int64_t>(sizeof(float));
  if (about.st_size != expected) {
    return absl::DataLossError(
        absl::StrCat("the volume's file has ", about.st_size, " bytes; its grid needs ", expected));
  }
  const std::string identity =
      absl::StrCat(about.st_ino, " ", about.st_mtim.tv_sec, " ", about.st_mtim.tv_nsec);
  const std::string salted = absl::StrCat(identity, " again");
  return RawVolume(std::move(file), extent,
                   absl::StrFormat("%08x%08x", Crc32c(std::as_bytes(std::span(identity))),
                                   Crc32c(std::as_bytes(std::span(salted)))));
}

absl::Status RawVolume::ReadRows(int z, int y, int rows, std::span<float> into) const {
  const int64_t first = (int64_t{z} * extent_.ny + y) * extent_.nx;
  return file_.ReadAt(first * static_cast<int64_t>(sizeof(float)),
                      std::as_writable_bytes(into.first(size_t{1} * extent_.nx * rows)));
}

absl::StatusOr<Plane> RawVolume::ReadPlane(Axis axis, int index) const {
  ISO_RETURN_IF_ERROR(CheckIndex(extent_, axis, index));
  if (axis == Axis::kSagittal) {
    return absl::InvalidArgumentError("axis is sagittal; legal are axial and coronal");
  }
  Plane plane = MakePlane(extent_, axis);
  std::vector<float> values(plane.hounsfield.size());
  if (axis == Axis::kAxial) {
    ISO_RETURN_IF_ERROR(ReadRows(index, 0, extent_.ny, values));
  } else {
    for (int z = 0; z < extent_.nz; ++z) {
      ISO_RETURN_IF_ERROR(
          ReadRows(z, index, 1, std::span(values).subspan(size_t{1} * z * extent_.nx)));
    }
  }
  std::ranges::transform(values, plane.hounsfield.begin(), ToInt16);
  return plane;
}

}  // namespace isocenter::viewer
