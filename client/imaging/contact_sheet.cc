#include "client/imaging/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "client/imaging/label.h"
#include "client/imaging/sheet_marks.h"

namespace isocenter::imaging {
namespace {

constexpr Plane kPlanes[] = {Plane::kAxial, Plane::kCoronal, Plane::kSagittal};
constexpr int kPanelPixels = 448;  // of the longest side of any plane
constexpr int kGap = 12;
constexpr int kText = 13;               // height of capitals
constexpr int kCaption = kText + kGap;  // a line of text and the space below it
constexpr int kLetter = kText + 5;      // a letter beside a plane, and the space between
constexpr uint8_t kPaper = 24, kInk = 220, kFaintInk = 140;

void Paste(const formats::GrayImage& panel, int x, int y, formats::GrayImage& sheet) {
  for (int row = 0; row < panel.height; ++row) {
    std::copy_n(panel.pixels.begin() + size_t(row) * panel.width, panel.width,
                sheet.pixels.begin() + size_t(y + row) * sheet.width + x);
  }
}

/// What a row is, with the space behind it.
std::string NameText(const SheetRow& row) { return row.label + "  "; }

/// Behind the grey bar.
std::string SourceText(const SheetRow& row) { return row.source.empty() ? "" : "  " + row.source; }

int CaptionWidth(const SheetRow& row) {
  return LabelWidth(NameText(row), kText) + GrayBarWidth(row.window, kText) +
         LabelWidth(SourceText(row), kText);
}

void DrawCaption(const SheetRow& row, int x, int y, formats::GrayImage& sheet) {
  DrawLabel(sheet, x, y, NameText(row), kInk, kText);
  x = DrawGrayBar(sheet, x + LabelWidth(NameText(row), kText), y, row.window, kFaintInk, kText);
  DrawLabel(sheet, x, y, SourceText(row), kFaintInk, kText);
}

std::string VoxelText(const VolumeGrid& grid) {
  return absl::StrFormat("    voxels of %.4g x %.4g x %.4g mm", grid.spacing.x, grid.spacing.y,
                         grid.spacing.z);
}

/// A place for letters on both sides of a plane of this grid.
int SideMargin(const VolumeGrid& grid) {
  int margin = 0;
  for (const Plane plane : kPlanes) {
    const PlaneSides sides = SidesOf(grid, plane);
    margin = std::max({margin, LabelWidth(sides.left, kText), LabelWidth(sides.right, kText)});
  }
  return margin + kLetter - kText;
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
  const int margin = SideMargin(grid);
  int width = kGap, panel_height = 0;
  std::vector<int> left;
  for (const Plane plane : kPlanes) {
    const std::array<double, 2> extent = PlaneExtent(grid, plane);
    left.push_back(width);
    const int label = LabelWidth(PlaneText(grid, plane, at), kText);
    const int panel = 2 * margin + static_cast<int>(std::lround(extent[0] / pixel_mm));
    width += std::max(label, panel) + kGap;
    panel_height = std::max(panel_height, static_cast<int>(std::lround(extent[1] / pixel_mm)));
  }
  for (const SheetRow& row : rows) width = std::max(width, CaptionWidth(row) + 2 * kGap);
  const int row_step = kCaption + 2 * kLetter + panel_height + kGap;
  const int first = kGap + kCaption, last = first + static_cast<int>(rows.size()) * row_step;
  formats::GrayImage sheet(width, last + kCaption, kPaper);
  for (size_t c = 0; c < std::size(kPlanes); ++c) {
    DrawLabel(sheet, left[c], kGap, PlaneText(grid, kPlanes[c], at), kFaintInk, kText);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const int top = first + static_cast<int>(r) * row_step;
    DrawCaption(rows[r], left[0], top, sheet);
    for (size_t c = 0; c < std::size(kPlanes); ++c) {
      const formats::GrayImage panel =
          RenderPlane(*rows[r].volume, kPlanes[c], at, rows[r].window, pixel_mm);
      const int x = left[c] + margin, y = top + kCaption + kLetter;
      Paste(panel, x, y, sheet);
      DrawSides(sheet, x, y, panel.width, panel.height, SidesOf(grid, kPlanes[c]), kInk, kText);
    }
  }
  const int bar =
      DrawScaleBar(sheet, left[0], last, ScaleBarMm(longest / 4), pixel_mm, kInk, kText);
  DrawLabel(sheet, bar, last, VoxelText(grid), kFaintInk, kText);
  return sheet;
}

}  // namespace isocenter::imaging
