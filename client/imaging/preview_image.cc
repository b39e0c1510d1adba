#include "client/imaging/preview_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/imaging/label.h"
#include "kernels/base/status_macros.h"

namespace isocenter::imaging {
namespace {

constexpr uint32_t kMaxPixels = 4096;  // along an axis, of a plane and of its image
constexpr int kText = 10, kLine = 16;  // of names above the planes
constexpr uint8_t kInk = 220;

const char* NameOf(const v1::PreviewPlane& plane) {
  switch (plane.orientation()) {
    case v1::PLANE_ORIENTATION_AXIAL:
      return Name(Plane::kAxial);
    case v1::PLANE_ORIENTATION_CORONAL:
      return Name(Plane::kCoronal);
    case v1::PLANE_ORIENTATION_SAGITTAL:
      return Name(Plane::kSagittal);
    default:  // of a later version
      return "";
  }
}

absl::Status Check(const v1::PreviewPlane& plane) {
  const uint64_t bytes = uint64_t{2} * plane.columns() * plane.rows();
  if (plane.columns() < 1 || plane.columns() > kMaxPixels || plane.rows() < 1 ||
      plane.rows() > kMaxPixels || plane.hounsfield().size() != bytes ||
      !(plane.column_spacing_mm() > 0) || !(plane.row_spacing_mm() > 0)) {
    return absl::DataLossError(absl::StrCat("a preview plane of ", plane.columns(), " x ",
                                            plane.rows(), " pixels has ", plane.hounsfield().size(),
                                            " bytes"));
  }
  return absl::OkStatus();
}

int Pixels(uint32_t count, double spacing, double pixel_mm) {
  return std::clamp(static_cast<int>(std::lround(count * spacing / pixel_mm)), 1,
                    static_cast<int>(kMaxPixels));
}

int16_t ValueAt(const v1::PreviewPlane& plane, uint32_t column, uint32_t row) {
  int16_t value;
  std::memcpy(&value, plane.hounsfield().data() + 2 * (size_t{row} * plane.columns() + column),
              sizeof(value));
  return value;
}

/// Nearest neighbour, at `left` of the image, below the names.
void Draw(const v1::PreviewPlane& plane, const Window& window, int left, int width, int height,
          formats::GrayImage& image) {
  const bool upwards = plane.orientation() != v1::PLANE_ORIENTATION_AXIAL;  // z: the head is above
  for (int y = 0; y < height; ++y) {
    const auto down = static_cast<uint32_t>(int64_t{y} * plane.rows() / height);
    const uint32_t row = upwards ? plane.rows() - 1 - down : down;
    for (int x = 0; x < width; ++x) {
      const auto column = static_cast<uint32_t>(int64_t{x} * plane.columns() / width);
      image.at(left + x, kLine + y) = window.Gray(ValueAt(plane, column, row));
    }
  }
}

}  // namespace

absl::StatusOr<formats::GrayImage> PreviewImage(const v1::Preview& preview, const Window& window) {
  if (preview.plane_size() == 0) return absl::DataLossError("a preview has no planes");
  double pixel_mm = std::numeric_limits<double>::infinity();
  for (const v1::PreviewPlane& plane : preview.plane()) {
    ISO_RETURN_IF_ERROR(Check(plane));
    pixel_mm = std::min({pixel_mm, plane.column_spacing_mm(), plane.row_spacing_mm()});
  }
  const auto width_of = [pixel_mm](const v1::PreviewPlane& plane) {
    return std::max(Pixels(plane.columns(), plane.column_spacing_mm(), pixel_mm),
                    LabelWidth(NameOf(plane), kText));
  };
  int width = 0, height = 0;
  for (const v1::PreviewPlane& plane : preview.plane()) {
    width += width_of(plane);
    height = std::max(height, Pixels(plane.rows(), plane.row_spacing_mm(), pixel_mm));
  }
  formats::GrayImage image(width, kLine + height, 0);
  int left = 0;
  for (const v1::PreviewPlane& plane : preview.plane()) {
    DrawLabel(image, left, 2, NameOf(plane), kInk, kText);
    Draw(plane, window, left, Pixels(plane.columns(), plane.column_spacing_mm(), pixel_mm),
         Pixels(plane.rows(), plane.row_spacing_mm(), pixel_mm), image);
    left += width_of(plane);
  }
  return image;
}

}  // namespace isocenter::imaging
