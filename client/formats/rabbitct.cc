#include "client/formats/rabbitct.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/geometry.h"

namespace isocenter::formats {
namespace {

constexpr double kRabbitPitchMm = 0.32;
constexpr double kRabbitColumns = 1248;
constexpr uint32_t kVersion2 = 2;

/// The first bytes of a file, little-endian; version 2 has its number before them.
struct Preamble {
  uint32_t columns, rows, projections;
  float hounsfield_scaling[2];
};
static_assert(sizeof(Preamble) == 20);

/// RabbitCT stores its 3x4 matrices column by column.
using StoredMatrix = std::array<double, 12>;
static_assert(sizeof(StoredMatrix) == 96);

ProjectionMatrix FromStored(const StoredMatrix& stored) {
  // RabbitCT divides by w squared, so the sign of a matrix is free there; ours has w > 0.
  const double sign = stored[11] < 0 ? -1 : 1;
  ProjectionMatrix matrix;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) matrix.m[i * 4 + j] = sign * stored[j * 3 + i];
  }
  return matrix;
}

StoredMatrix ToStored(const ProjectionMatrix& matrix) {
  StoredMatrix stored;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) stored[j * 3 + i] = matrix(i, j);
  }
  return stored;
}

template <class T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <class T>
absl::Status ReadValue(InputFile& file, uint64_t offset, T& value) {
  return file.ReadAt(offset, std::as_writable_bytes(std::span(&value, 1)));
}

class RabbitCtSource : public FrameSource {
 public:
  RabbitCtSource(v1::AcquisitionHeader header, InputFile file, int64_t frame_bytes,
                 uint64_t first_record)
      : header_(std::move(header)),
        file_(std::move(file)),
        frame_bytes_(frame_bytes),
        first_record_(first_record) {}
  const v1::AcquisitionHeader& header() const override { return header_; }
  int64_t frame_bytes() const override { return frame_bytes_; }
  absl::Status Read(int64_t index, std::span<std::byte> pixels) override {
    const uint64_t record = sizeof(StoredMatrix) + frame_bytes_;
    return file_.ReadAt(first_record_ + index * record + sizeof(StoredMatrix), pixels);
  }

  /// The pixels of line integrals add up to about what their magnitudes add up to, whatever the
  /// noise in air; those of a ramp-filtered frame nearly cancel, since the ramp has no mean. A
  /// frame in the middle of the arc: the redundancy weights of the first may be zero.
  absl::Status CheckLineIntegrals() {
    std::vector<float> frame(frame_bytes_ / sizeof(float));
    ISO_RETURN_IF_ERROR(Read(header_.frame_count() / 2, std::as_writable_bytes(std::span(frame))));
    double sum = 0, magnitude = 0;
    for (const float pixel : frame) {
      sum += pixel;
      magnitude += std::abs(pixel);
    }
    if (!(sum < 0.5 * magnitude)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        file_.name(),
        " holds filtered projections, as the data sets of the RabbitCT benchmark do, and a "
        "reconstruction would filter them again; give it to the benchmark's runner with "
        "libisocenter_rabbitct.so, and for this command record line integrals or counts"));
  }

 private:
  v1::AcquisitionHeader header_;
  InputFile file_;
  int64_t frame_bytes_;
  uint64_t first_record_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenRabbitCt(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  uint32_t first_word;
  ISO_RETURN_IF_ERROR(ReadValue(file, 0, first_word));
  // Layout 1 begins with the number of columns, and no detector has two.
  const uint64_t preamble_at = first_word == kVersion2 ? sizeof first_word : 0;
  Preamble preamble;
  ISO_RETURN_IF_ERROR(ReadValue(file, preamble_at, preamble));
  v1::AcquisitionHeader header;
  const double pitch = kRabbitPitchMm * kRabbitColumns / std::max(1u, preamble.columns);
  header.set_pixel_type(v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  header.mutable_detector()->set_columns(preamble.columns);
  header.mutable_detector()->set_rows(preamble.rows);
  header.mutable_detector()->set_pitch_u_mm(pitch);
  header.mutable_detector()->set_pitch_v_mm(pitch);
  header.set_frame_count(preamble.projections);
  const absl::StatusOr<int64_t> frame_bytes = wire::CheckedFrameBytes(header);
  if (!frame_bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name(), " is not a RabbitCT file: ", frame_bytes.status().message()));
  }
  uint64_t first_record = preamble_at + sizeof(Preamble);
  const uint64_t record = sizeof(StoredMatrix) + *frame_bytes;
  const uint64_t expected = first_record + preamble.projections * record;
  if (file.size() < expected) {
    return absl::DataLossError(
        absl::StrCat(file.name(), " is truncated or no RabbitCT file: ", preamble.projections,
                     " projections of ", preamble.columns, " x ", preamble.rows, " need ", expected,
                     " bytes, and it has ", file.size()));
  }
  // Some files have a table of all matrices before the records; their first matrix comes twice.
  const uint64_t table = uint64_t{preamble.projections} * sizeof(StoredMatrix);
  if (file.size() >= expected + table) {
    StoredMatrix in_front, in_record;
    ISO_RETURN_IF_ERROR(ReadValue(file, first_record, in_front));
    ISO_RETURN_IF_ERROR(ReadValue(file, first_record + table, in_record));
    if (in_front == in_record) first_record += table;
  }
  for (uint32_t i = 0; i < preamble.projections; ++i) {
    StoredMatrix stored;
    ISO_RETURN_IF_ERROR(ReadValue(file, first_record + i * record, stored));
    *header.mutable_matrices()->add_matrix() = wire::ToProto(FromStored(stored));
  }
  ISO_RETURN_IF_ERROR(wire::CheckedFrameBytes(header).status());  // finite matrices
  auto source = std::make_unique<RabbitCtSource>(std::move(header), std::move(file), *frame_bytes,
                                                 first_record);
  ISO_RETURN_IF_ERROR(source->CheckLineIntegrals());
  return source;
}

absl::StatusOr<RabbitCtWriter> RabbitCtWriter::Create(const std::filesystem::path& path,
                                                      const RabbitCtPreamble& preamble) {
  ISO_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  if (preamble.version == 2) ISO_RETURN_IF_ERROR(file.Write(BytesOf(kVersion2)));
  const Preamble stored{preamble.columns,
                        preamble.rows,
                        preamble.projections,
                        {preamble.hu_factor, preamble.hu_offset}};
  ISO_RETURN_IF_ERROR(file.Write(BytesOf(stored)));
  return RabbitCtWriter(preamble, std::move(file));
}

absl::Status RabbitCtWriter::AppendProjection(const ProjectionMatrix& matrix,
                                              std::span<const float> image) {
  if (image.size() != size_t{preamble_.columns} * preamble_.rows ||
      written_ == preamble_.projections) {
    return absl::InvalidArgumentError(absl::StrCat(
        "projection ", written_, " of ", image.size(), " pixels does not fit; legal is ",
        preamble_.projections, " projections of ", preamble_.columns, " x ", preamble_.rows));
  }
  ++written_;
  ISO_RETURN_IF_ERROR(file_.Write(BytesOf(ToStored(matrix))));
  return file_.Write(std::as_bytes(image));
}

absl::Status RabbitCtWriter::AppendReference(std::span<const uint16_t> slices) {
  return file_.Write(std::as_bytes(slices));
}

absl::Status RabbitCtWriter::Finish() {
  if (written_ != preamble_.projections) {
    return absl::FailedPreconditionError(
        absl::StrCat(written_, " of ", preamble_.projections, " projections were written"));
  }
  return file_.Commit();
}

}  // namespace isocenter::formats
