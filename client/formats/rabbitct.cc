#include "client/formats/rabbitct.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/formats/file.h"
#include "client/wire.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

constexpr double kRabbitPitchMm = 0.32;
constexpr double kRabbitColumns = 1248;

/// The first bytes of a file, little-endian.
struct Preamble {
  uint32_t columns, rows, views;
  float hounsfield_scaling[2];  // HU = [0] * value + [1]
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

StoredMatrix ToStored(const v1::ProjectionMatrix& matrix) {
  StoredMatrix stored;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) stored[j * 3 + i] = matrix.value(i * 4 + j);
  }
  return stored;
}

class RabbitCtSource : public FrameSource {
 public:
  RabbitCtSource(v1::AcquisitionHeader header, InputFile file, int64_t frame_bytes)
      : header_(std::move(header)), file_(std::move(file)), frame_bytes_(frame_bytes) {}
  const v1::AcquisitionHeader& header() const override { return header_; }
  int64_t frame_bytes() const override { return frame_bytes_; }
  absl::Status Read(int64_t index, std::span<std::byte> pixels) override {
    const int64_t begin = sizeof(Preamble) + header_.frame_count() * sizeof(StoredMatrix) +
                          index * (sizeof(StoredMatrix) + frame_bytes_) + sizeof(StoredMatrix);
    return file_.ReadAt(begin, pixels);
  }
  /// Line integrals are hardly ever negative; a ramp-filtered frame is so for about half of its
  /// pixels.
  absl::Status LookAtFirstFrame() {
    std::vector<float> frame(frame_bytes_ / sizeof(float));
    ISO_RETURN_IF_ERROR(Read(0, std::as_writable_bytes(std::span(frame))));
    const auto negative = std::count_if(frame.begin(), frame.end(), [](float p) { return p < 0; });
    if (negative > static_cast<int64_t>(frame.size()) / 4) {
      warning_ =
          absl::StrCat(file_.name(), ": ", 100 * negative / frame.size(),
                       " % of the first frame is negative: these seem to be filtered projections, "
                       "as in the original RabbitCT data; the service filters them again");
    }
    return absl::OkStatus();
  }
  std::string warning() const override { return warning_; }

 private:
  v1::AcquisitionHeader header_;
  InputFile file_;
  int64_t frame_bytes_;
  std::string warning_;
};

class RabbitCtSink : public FrameSink {
 public:
  RabbitCtSink(v1::AcquisitionHeader header, OutputFile file, size_t frame_bytes)
      : header_(std::move(header)), file_(std::move(file)), frame_bytes_(frame_bytes) {}

  absl::Status WritePreamble() {
    // HU = 1000 (mu - mu_water) / mu_water with mu_water = 0.02 per mm.
    const Preamble preamble{header_.detector().columns(),
                            header_.detector().rows(),
                            header_.frame_count(),
                            {50000, -1000}};
    ISO_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(&preamble, 1))));
    for (const auto& matrix : header_.matrices().matrix()) {
      const StoredMatrix stored = ToStored(matrix);
      ISO_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(stored))));
    }
    return absl::OkStatus();
  }
  absl::Status Append(std::span<const std::byte> pixels) override {
    if (pixels.size() != frame_bytes_ || written_ == int64_t{header_.frame_count()}) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame ", written_, " of ", pixels.size(), " bytes does not fit; legal is ",
                       header_.frame_count(), " frames of ", frame_bytes_, " bytes"));
    }
    const StoredMatrix matrix = ToStored(header_.matrices().matrix(written_++));
    ISO_RETURN_IF_ERROR(file_.Write(std::as_bytes(std::span(matrix))));
    return file_.Write(pixels);
  }
  absl::Status Finish() override {
    if (written_ != int64_t{header_.frame_count()}) {
      return absl::FailedPreconditionError(
          absl::StrCat(written_, " of ", header_.frame_count(), " frames were written"));
    }
    return file_.Commit();
  }

 private:
  v1::AcquisitionHeader header_;
  OutputFile file_;
  size_t frame_bytes_;
  int written_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenRabbitCt(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  Preamble preamble;
  ISO_RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(&preamble, 1))));
  v1::AcquisitionHeader header;
  const double pitch = kRabbitPitchMm * kRabbitColumns / std::max(1u, preamble.columns);
  header.set_pixel_type(v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  header.mutable_detector()->set_columns(preamble.columns);
  header.mutable_detector()->set_rows(preamble.rows);
  header.mutable_detector()->set_pitch_u_mm(pitch);
  header.mutable_detector()->set_pitch_v_mm(pitch);
  header.set_frame_count(preamble.views);
  const absl::StatusOr<int64_t> frame_bytes = client::CheckedFrameBytes(header);
  if (!frame_bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name(), " is not a RabbitCT file: ", frame_bytes.status().message()));
  }
  const uint64_t expected =
      sizeof(Preamble) + preamble.views * (2 * sizeof(StoredMatrix) + uint64_t(*frame_bytes));
  if (file.size() < expected) {
    return absl::DataLossError(
        absl::StrCat(file.name(), " is truncated or no RabbitCT file: ", preamble.views,
                     " projections of ", preamble.columns, " x ", preamble.rows, " need ", expected,
                     " bytes, and it has ", file.size()));
  }
  std::vector<StoredMatrix> stored(preamble.views);
  ISO_RETURN_IF_ERROR(file.ReadAt(sizeof(Preamble), std::as_writable_bytes(std::span(stored))));
  for (const StoredMatrix& matrix : stored) {
    *header.mutable_matrices()->add_matrix() = client::ToProto(FromStored(matrix));
  }
  ISO_RETURN_IF_ERROR(client::CheckedFrameBytes(header).status());  // finite matrices
  auto source = std::make_unique<RabbitCtSource>(std::move(header), std::move(file), *frame_bytes);
  ISO_RETURN_IF_ERROR(source->LookAtFirstFrame());
  return source;
}

absl::StatusOr<std::unique_ptr<FrameSink>> CreateRabbitCt(const std::filesystem::path& path,
                                                          const v1::AcquisitionHeader& header) {
  ISO_ASSIGN_OR_RETURN(const int64_t frame_bytes, client::CheckedFrameBytes(header));
  if (header.pixel_type() != v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS || !header.has_matrices()) {
    return absl::InvalidArgumentError(
        "a RabbitCT file holds line integrals and one matrix per frame; write a bundle for others");
  }
  ISO_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  auto sink = std::make_unique<RabbitCtSink>(header, std::move(file), frame_bytes);
  ISO_RETURN_IF_ERROR(sink->WritePreamble());
  return sink;
}

}  // namespace isocenter::formats
