#include "client/imaging/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "client/imaging/label.h"

namespace isocenter::imaging {
namespace {

constexpr Plane kPlanes[] = {Plane::kAxial, Plane::kCoronal, Plane::kSagittal};
constexpr int kPanelPixels = 448;  // of the longest side of any plane
constexpr int kGap = 12;
constexpr int kText = 13;               // height of capitals
constexpr int kCaption = kText + kGap;  // a line of text and the space below it
constexpr uint8_t kPaper = 24, kInk = 220, kFaintInk = 140;

void Paste(const formats::GrayImage& panel, int x, int y, formats::GrayImage& sheet) {
  for (int row = 0; row < panel.height; ++row) {
    std::copy_n(panel.pixels.begin() + size_t(row) * panel.width, panel.width,
                sheet.pixels.begin() + size_t(y + row) * sheet.width + x);
  }
}

std::string WindowText(const Window& window) {
  return absl::StrFormat("window: centre %g, width %g HU", window.center, window.width);
}

/// Position of a plane along its normal, in millimetres of the world.
std::string PlaneText(const VolumeGrid& grid, Plane plane, const SliceIndex& at) {
  const Vec3 p = grid.VoxelToWorld(at[0], at[1], at[2]);
  const std::string name(Name(plane));
  switch (plane) {
    case Plane::kAxial:
      return absl::StrFormat("%s  z = %.1f mm", name, p.z);
    case Plane::kCoronal:
      return absl::StrFormat("%s  y = %.1f mm", name, p.y);
    case Plane::kSagittal:
      return absl::StrFormat("%s  x = %.1f mm", name, p.x);
  }
  return name;
}

}  // namespace

formats::GrayImage RenderSheet(const std::vector<SheetRow>& rows, const SliceIndex& at) {
  const VolumeGrid& grid = rows.front().volume->grid;
  double longest = 0;
  for (const Plane plane : kPlanes) {
    for (const double mm : PlaneExtent(grid, plane)) longest = std::max(longest, mm);
  }
  const double pixel_mm = longest / kPanelPixels;
  int width = kGap, row_height = 0;
  std::vector<int> left;
  for (const Plane plane : kPlanes) {
    const std::array<double, 2> extent = PlaneExtent(grid, plane);
    left.push_back(width);
    const int label = LabelWidth(PlaneText(grid, plane, at), kText);
    width += std::max(label, static_cast<int>(std::lround(extent[0] / pixel_mm))) + kGap;
    row_height = std::max(row_height, static_cast<int>(std::lround(extent[1] / pixel_mm)));
  }
  const int row_step = kCaption + row_height + kGap;
  formats::GrayImage sheet(width, kGap + kCaption + static_cast<int>(rows.size()) * row_step,
                           kPaper);
  for (size_t c = 0; c < std::size(kPlanes); ++c) {
    DrawLabel(sheet, left[c], kGap, PlaneText(grid, kPlanes[c], at), kFaintInk, kText);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const int top = kGap + kCaption + static_cast<int>(r) * row_step;
    DrawLabel(sheet, left[0], top, rows[r].label, kInk, kText);
    DrawLabel(sheet, left[0] + LabelWidth(rows[r].label + "  ", kText), top,
              WindowText(rows[r].window), kFaintInk, kText);
    for (size_t c = 0; c < std::size(kPlanes); ++c) {
      const formats::GrayImage panel =
          RenderPlane(*rows[r].volume, kPlanes[c], at, rows[r].window, pixel_mm);
      Paste(panel, left[c], top + kCaption, sheet);
    }
  }
  return sheet;
}

}  // namespace isocenter::imaging
