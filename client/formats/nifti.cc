#include "client/formats/nifti.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/formats/element_type.h"
#include "client/formats/gzip/inflated_file.h"
#include "kernels/base/status_macros.h"
#include "proto/volume/headers.h"

namespace isocenter::formats {
namespace {

constexpr size_t kHeaderBytes = 348;

/// What is in a file, which gzip may have compressed.
class Content {
 public:
  static absl::StatusOr<Content> Open(const std::filesystem::path& path) {
    ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
    const uint64_t bytes = file.size();
    std::array<std::byte, 2> magic{};
    if (bytes >= magic.size()) ISO_RETURN_IF_ERROR(file.ReadAt(0, magic));
    if (magic != std::array{std::byte{0x1f}, std::byte{0x8b}}) {
      return Content(std::move(file), bytes);
    }
    ISO_ASSIGN_OR_RETURN(InflatedFile inflated, InflatedFile::Open(std::move(file), 0));
    return Content(std::move(inflated), bytes);
  }
  absl::Status Read(std::span<std::byte> bytes) {
    if (auto* inflated = std::get_if<InflatedFile>(&file_)) return inflated->Read(bytes);
    ISO_RETURN_IF_ERROR(std::get<InputFile>(file_).ReadAt(position_, bytes));
    position_ += bytes.size();
    return absl::OkStatus();
  }
  absl::StatusOr<bool> HasMore() {
    if (auto* inflated = std::get_if<InflatedFile>(&file_)) return inflated->HasMore();
    return position_ < stored_bytes_;
  }
  uint64_t stored_bytes() const { return stored_bytes_; }
  /// More than they can be.
  uint64_t possible_bytes() const {
    return stored_bytes_ * (std::holds_alternative<InflatedFile>(file_) ? kLargestDeflateRatio : 1);
  }

 private:
  Content(std::variant<InputFile, InflatedFile> file, uint64_t stored_bytes)
      : file_(std::move(file)), stored_bytes_(stored_bytes) {}

  std::variant<InputFile, InflatedFile> file_;
  uint64_t stored_bytes_;
  uint64_t position_ = 0;
};

/// Fields of the 348-byte header at their offsets (nifti1.h of the NIfTI-1 standard).
class Header {
 public:
  template <class T>
  T Get(size_t offset) const {
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), bytes.data() + offset, sizeof(T));
    if (swapped) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
  }
  std::array<std::byte, kHeaderBytes> bytes{};
  bool swapped = false;
};

std::optional<ElementType> TypeOf(int datatype) {
  switch (datatype) {
    case 2:
      return ElementType::kUint8;
    case 4:
      return ElementType::kInt16;
    case 8:
      return ElementType::kInt32;
    case 16:
      return ElementType::kFloat32;
    case 64:
      return ElementType::kFloat64;
    case 256:
      return ElementType::kInt8;
    case 512:
      return ElementType::kUint16;
    case 768:
      return ElementType::kUint32;
    default:
      return std::nullopt;
  }
}

/// Rows of the index-to-RAS transform, 3x4.
using Affine = std::array<double, 12>;

Affine FromQform(const Header& h) {
  const double b = h.Get<float>(256), c = h.Get<float>(260), d = h.Get<float>(264);
  const double a = std::sqrt(std::max(0.0, 1 - b * b - c * c - d * d));
  const double qfac = h.Get<float>(76) < 0 ? -1 : 1;
  const double sx = h.Get<float>(80), sy = h.Get<float>(84), sz = qfac * h.Get<float>(88);
  return {(a * a + b * b - c * c - d * d) * sx,
          2 * (b * c - a * d) * sy,
          2 * (b * d + a * c) * sz,
          h.Get<float>(268),
          2 * (b * c + a * d) * sx,
          (a * a + c * c - b * b - d * d) * sy,
          2 * (c * d - a * b) * sz,
          h.Get<float>(272),
          2 * (b * d - a * c) * sx,
          2 * (c * d + a * b) * sy,
          (a * a + d * d - b * b - c * c) * sz,
          h.Get<float>(276)};
}

Affine IndexToRas(const Header& h) {
  Affine m{};
  if (h.Get<int16_t>(254) > 0) {  // sform_code
    for (int i = 0; i < 12; ++i) m[i] = h.Get<float>(280 + 4 * i);
    return m;
  }
  if (h.Get<int16_t>(252) > 0) return FromQform(h);  // qform_code
  for (int a = 0; a < 3; ++a) m[a * 5] = h.Get<float>(80 + 4 * a);
  return m;
}

absl::StatusOr<Header> ReadHeader(Content& content, const std::string& name) {
  Header header;
  ISO_RETURN_IF_ERROR(content.Read(header.bytes));
  header.swapped = header.Get<int32_t>(0) != int{kHeaderBytes};
  if (header.Get<int32_t>(0) != int{kHeaderBytes} ||
      std::memcmp(header.bytes.data() + 344, "n+1", 4) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is not a single-file NIfTI-1 image (magic 'n+1' not found)"));
  }
  const int dimensions = header.Get<int16_t>(40);
  int64_t later = 1;
  for (int a = 3; a < std::clamp(dimensions, 0, 7); ++a) later *= header.Get<int16_t>(42 + 2 * a);
  if (dimensions < 3 || dimensions > 7 || later != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": dim[0] is ", dimensions, "; legal is one three-dimensional volume"));
  }
  return header;
}

/// Bytes between the header and the first voxel.
absl::StatusOr<size_t> GapOf(const Header& header, const std::string& name) {
  const double begin = header.Get<float>(108);  // vox_offset
  if (begin >= kHeaderBytes && begin <= 1e6) return static_cast<size_t>(begin) - kHeaderBytes;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": vox_offset is ", begin, "; legal is 348 to 1000000"));
}

absl::StatusOr<VoxelCoding> CodingOf(const Header& header, const std::string& name) {
  const std::optional<ElementType> type = TypeOf(header.Get<int16_t>(70));
  if (!type) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": datatype is ", header.Get<int16_t>(70),
                     "; legal is 2, 4, 8, 16, 64, 256, 512 or 768 (integers and floats)"));
  }
  VoxelCoding coding{.type = *type};
  coding.big_endian = header.swapped != (std::endian::native == std::endian::big);
  const double slope = header.Get<float>(112);
  if (slope != 0 && std::isfinite(slope)) {
    coding.slope = slope;
    coding.intercept = header.Get<float>(116);
  }
  return coding;
}

absl::StatusOr<VolumeGrid> GridOf(const Header& header, const std::string& name) {
  VolumeGrid grid{
      .nx = header.Get<int16_t>(42), .ny = header.Get<int16_t>(44), .nz = header.Get<int16_t>(46)};
  const Affine m = IndexToRas(header);
  double* spacing[] = {&grid.spacing.x, &grid.spacing.y, &grid.spacing.z};
  constexpr double kToLps[] = {-1, -1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const double length = Norm({m[axis], m[4 + axis], m[8 + axis]});
    if (!(length > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": spacing of axis ", axis, " is ", length, "; legal is above 0"));
    }
    *spacing[axis] = length;
    for (int i = 0; i < 3; ++i) {
      grid.direction[i * 3 + axis] = kToLps[i] * m[i * 4 + axis] / length;
    }
  }
  grid.origin = {-m[3], -m[7], m[11]};
  return grid;
}

}  // namespace

absl::StatusOr<Volume> ReadNifti(const std::filesystem::path& path) {
  const std::string name = path.string();
  ISO_ASSIGN_OR_RETURN(Content content, Content::Open(path));
  ISO_ASSIGN_OR_RETURN(const Header header, ReadHeader(content, name));
  Volume volume;
  ISO_ASSIGN_OR_RETURN(volume.grid, GridOf(header, name));
  const auto [nx, ny, nz] = std::array{volume.grid.nx, volume.grid.ny, volume.grid.nz};
  ISO_ASSIGN_OR_RETURN(const int64_t voxels, CheckedVoxelCount(nx, ny, nz, name));
  ISO_ASSIGN_OR_RETURN(const VoxelCoding coding, CodingOf(header, name));
  ISO_ASSIGN_OR_RETURN(const size_t gap, GapOf(header, name));
  if (uint64_t(voxels) * ElementBytes(coding.type) > content.possible_bytes()) {
    return absl::DataLossError(absl::StrCat(name, " is truncated: ", nx, " x ", ny, " x ", nz,
                                            " voxels cannot be in ", content.stored_bytes(),
                                            " bytes"));
  }
  std::vector<std::byte> skipped(gap);
  ISO_RETURN_IF_ERROR(content.Read(skipped));
  ISO_ASSIGN_OR_RETURN(
      volume.voxels, ReadVoxels(name, voxels, coding, content.stored_bytes(),
                                [&content](uint64_t, auto bytes) { return content.Read(bytes); }));
  // Of another size or type, voxels would stand in wrong places.
  ISO_ASSIGN_OR_RETURN(const bool has_more, content.HasMore());
  if (has_more) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has more data than its header says: dim ", nx, " x ", ny, " x ", nz,
        " with voxels of ", ElementBytes(coding.type), " bytes needs ",
        uint64_t(voxels) * ElementBytes(coding.type), " bytes; legal are exactly as many"));
  }
  return WithRightHandedGrid(std::move(volume), name);
}

absl::StatusOr<NiftiWriter> NiftiWriter::Create(const std::filesystem::path& path,
                                                const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  const auto with_header = [&grid](auto file) -> absl::StatusOr<NiftiWriter> {
    const std::string header = volume_file::NiftiHeader(grid);
    ISO_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(header))));
    return NiftiWriter(std::move(file), grid.voxels());
  };
  if (path.extension() == ".gz") {
    ISO_ASSIGN_OR_RETURN(GzipFile packed, GzipFile::Create(path));
    return with_header(std::move(packed));
  }
  ISO_ASSIGN_OR_RETURN(OutputFile plain, OutputFile::Create(path));
  return with_header(std::move(plain));
}

absl::Status NiftiWriter::Append(std::span<const float> voxels) {
  if (static_cast<int64_t>(voxels.size()) > missing_) {
    return absl::InvalidArgumentError(
        absl::StrCat(voxels.size(), " voxels given where ", missing_, " are missing"));
  }
  missing_ -= static_cast<int64_t>(voxels.size());
  return std::visit([voxels](auto& file) { return file.Write(std::as_bytes(voxels)); }, file_);
}

absl::Status NiftiWriter::Finish() {
  if (missing_ != 0) {
    return absl::FailedPreconditionError(absl::StrCat(missing_, " voxels are missing"));
  }
  return std::visit([](auto& file) { return file.Commit(); }, file_);
}

}  // namespace isocenter::formats
