#include "client/imaging/preview_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/imaging/label.h"
#include "client/imaging/sheet_marks.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/geometry.h"

namespace isocenter::imaging {
namespace {

constexpr uint32_t kMaxPixels = 4096;  // along an axis, of a plane and of its image
constexpr int kText = 12;              // height of capitals
constexpr int kGap = 8;                // around the image
constexpr int kBetween = 24;           // planes, whose letters are not to be taken for words
constexpr int kLetter = kText + kText / 3;
constexpr uint8_t kInk = 220;

std::optional<Plane> PlaneOf(const v1::PreviewPlane& plane) {
  switch (plane.orientation()) {
    case v1::PLANE_ORIENTATION_AXIAL:
      return Plane::kAxial;
    case v1::PLANE_ORIENTATION_CORONAL:
      return Plane::kCoronal;
    case v1::PLANE_ORIENTATION_SAGITTAL:
      return Plane::kSagittal;
    default:  // of a later version
      return std::nullopt;
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

/// Where a plane stands in the image, with its letters, and what is written there.
struct Panel {
  const v1::PreviewPlane& plane;
  std::string name;
  PlaneSides sides;
  int width = 0, height = 0;  // of the plane alone
  int margin() const {
    return std::max(LabelWidth(sides.left, kText), LabelWidth(sides.right, kText)) + kText / 3;
  }
  int whole_width() const { return std::max(width + 2 * margin(), LabelWidth(name, kText)); }
};

/// `grid`: null where it is not known.
Panel PanelOf(const v1::PreviewPlane& plane, double pixel_mm, const VolumeGrid* grid) {
  Panel panel{.plane = plane,
              .width = Pixels(plane.columns(), plane.column_spacing_mm(), pixel_mm),
              .height = Pixels(plane.rows(), plane.row_spacing_mm(), pixel_mm)};
  if (const std::optional<Plane> of_grid = PlaneOf(plane)) {
    panel.name = Name(*of_grid);
    if (grid != nullptr) panel.sides = SidesOf(*grid, *of_grid);
  }
  return panel;
}

/// Nearest neighbour; (left, top): the upper left corner of the plane.
void Draw(const Panel& panel, const Window& window, int left, int top, formats::GrayImage& image) {
  const v1::PreviewPlane& plane = panel.plane;
  const bool upwards = plane.orientation() != v1::PLANE_ORIENTATION_AXIAL;  // z: the head is above
  for (int y = 0; y < panel.height; ++y) {
    const auto down = static_cast<uint32_t>(int64_t{y} * plane.rows() / panel.height);
    const uint32_t row = upwards ? plane.rows() - 1 - down : down;
    for (int x = 0; x < panel.width; ++x) {
      const auto column = static_cast<uint32_t>(int64_t{x} * plane.columns() / panel.width);
      image.at(left + x, top + y) = window.Gray(ValueAt(plane, column, row));
    }
  }
  DrawSides(image, left, top, panel.width, panel.height, panel.sides, kInk, kText);
}

}  // namespace

absl::StatusOr<formats::GrayImage> PreviewImage(const v1::Preview& preview, const Window& window) {
  if (preview.plane_size() == 0) return absl::DataLossError("a preview has no planes");
  double pixel_mm = std::numeric_limits<double>::infinity();
  for (const v1::PreviewPlane& plane : preview.plane()) {
    ISO_RETURN_IF_ERROR(Check(plane));
    pixel_mm = std::min({pixel_mm, plane.column_spacing_mm(), plane.row_spacing_mm()});
  }
  std::optional<VolumeGrid> grid;
  if (preview.has_grid()) {
    ISO_ASSIGN_OR_RETURN(grid, wire::GridFromProto(preview.grid()));
  }
  std::vector<Panel> panels;
  int width = 2 * kGap - kBetween, height = 0;
  for (const v1::PreviewPlane& plane : preview.plane()) {
    panels.push_back(PanelOf(plane, pixel_mm, grid ? &*grid : nullptr));
    width += panels.back().whole_width() + kBetween;
    height = std::max(height, panels.back().height);
  }
  const int top = kGap + kText + kGap + kLetter;
  formats::GrayImage image(width, top + height + kLetter + kGap, 0);
  int left = kGap;
  for (const Panel& panel : panels) {
    DrawLabel(image, left, kGap, panel.name, kInk, kText);
    Draw(panel, window, left + panel.margin(), top, image);
    left += panel.whole_width() + kBetween;
  }
  return image;
}

}  // namespace isocenter::imaging
