#include "client/formats/rtk_acquisition.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/formats/meta_image.h"
#include "client/formats/rtk_geometry.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/geometry.h"

namespace isocenter::formats {
namespace {

class RtkSource : public FrameSource {
 public:
  RtkSource(v1::AcquisitionHeader header, const MetaImageHeader& image,
            std::unique_ptr<MetaImageData> data, int64_t frame_bytes)
      : header_(std::move(header)),
        image_(image),
        data_(std::move(data)),
        frame_bytes_(frame_bytes) {}

  const v1::AcquisitionHeader& header() const override { return header_; }
  int64_t frame_bytes() const override { return frame_bytes_; }
  absl::Status Read(int64_t index, std::span<std::byte> pixels) override {
    values_.resize(image_.size[0] * image_.size[1]);
    stored_.resize(values_.size() * ElementBytes(image_.type));
    ISO_RETURN_IF_ERROR(data_->Read(index * stored_.size(), stored_));
    ToFloat(stored_, image_.type, image_.big_endian, 1, 0, values_);
    if (header_.pixel_type() == v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS) {
      std::memcpy(pixels.data(), values_.data(), pixels.size());
    } else {
      const std::vector<uint16_t> counts(values_.begin(), values_.end());
      std::memcpy(pixels.data(), counts.data(), pixels.size());
    }
    return absl::OkStatus();
  }

 private:
  v1::AcquisitionHeader header_;
  MetaImageHeader image_;
  std::unique_ptr<MetaImageData> data_;
  int64_t frame_bytes_;
  // One view as in the file, and its values; they get their room with the first frame that is read.
  std::vector<std::byte> stored_;
  std::vector<float> values_;
};

/// Millimetres on the projection image to pixel indices: index = (mm - offset) / spacing.
ProjectionMatrix ToPixels(const ProjectionMatrix& matrix, const MetaImageHeader& image) {
  ProjectionMatrix pixels = matrix;
  for (int row = 0; row < 2; ++row) {
    for (int j = 0; j < 4; ++j) {
      pixels.m[row * 4 + j] =
          (matrix(row, j) - image.offset[row] * matrix(2, j)) / image.spacing[row];
    }
  }
  return pixels;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenRtkAcquisition(
    const std::filesystem::path& geometry, const std::filesystem::path& projections,
    double i0_counts) {
  ISO_ASSIGN_OR_RETURN(const std::vector<ProjectionMatrix> matrices, ReadRtkGeometry(geometry));
  ISO_ASSIGN_OR_RETURN(const MetaImageHeader image, ReadMetaImageHeader(projections));
  if (image.size[2] != static_cast<int64_t>(matrices.size())) {
    return absl::InvalidArgumentError(absl::StrCat(projections.string(), " holds ", image.size[2],
                                                   " projections, but ", geometry.string(),
                                                   " describes ", matrices.size()));
  }
  v1::AcquisitionHeader header;
  const bool counts = image.type == ElementType::kUint16;
  header.set_pixel_type(counts ? v1::PIXEL_TYPE_UINT16_COUNTS
                               : v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  if (counts) header.set_i0_counts(i0_counts);
  *header.mutable_detector() = wire::ToProto(Detector{.columns = static_cast<int>(image.size[0]),
                                                      .rows = static_cast<int>(image.size[1]),
                                                      .pitch_u_mm = image.spacing[0],
                                                      .pitch_v_mm = image.spacing[1]});
  header.set_frame_count(static_cast<uint32_t>(image.size[2]));
  for (size_t view = 0; view < matrices.size(); ++view) {
    const absl::StatusOr<ProjectionMatrix> normalized =
        NormalizeMatrix(ToPixels(matrices[view], image));
    if (!normalized.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(geometry.string(), ", projection ", view, ": ",
                                                     normalized.status().message()));
    }
    *header.mutable_matrices()->add_matrix() = wire::ToProto(*normalized);
  }
  ISO_ASSIGN_OR_RETURN(const int64_t frame_bytes, wire::CheckedFrameBytes(header));
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<MetaImageData> data, MetaImageData::Open(image));
  return std::make_unique<RtkSource>(std::move(header), image, std::move(data), frame_bytes);
}

}  // namespace isocenter::formats
