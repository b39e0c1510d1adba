#include "client/imaging/planes.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace isocenter::imaging {
namespace {

/// Index axes that run to the right and downwards in the image; `down_sign` -1: upwards.
struct Layout {
  int right, down, through;
  int down_sign;
};

Layout LayoutOf(Plane plane) {
  switch (plane) {
    case Plane::kAxial:
      return {0, 1, 2, 1};
    case Plane::kCoronal:
      return {0, 2, 1, -1};
    case Plane::kSagittal:
      return {1, 2, 0, -1};
  }
  return {};
}

/// Of a direction in the axes of the patient: x to the left, y to the back, z to the head.
std::string Letters(const std::array<double, 3>& direction) {
  constexpr double kLeast = 0.25;
  constexpr char kNames[3][2] = {{'L', 'R'}, {'P', 'A'}, {'H', 'F'}};
  std::array<int, 3> axes{0, 1, 2};
  std::ranges::stable_sort(axes, std::greater(),
                           [&](int axis) { return std::abs(direction[axis]); });
  std::string letters;
  for (const int axis : axes) {
    if (std::abs(direction[axis]) > kLeast) letters += kNames[axis][direction[axis] > 0 ? 0 : 1];
  }
  return letters;
}

/// Of an index axis, or of what is opposite to it.
std::string Letters(const VolumeGrid& grid, int axis, int sign) {
  const std::array<double, 9>& d = grid.direction;
  return Letters({sign * d[axis], sign * d[3 + axis], sign * d[6 + axis]});
}

std::array<int, 3> Counts(const VolumeGrid& grid) { return {grid.nx, grid.ny, grid.nz}; }
std::array<double, 3> Spacings(const VolumeGrid& grid) {
  return {grid.spacing.x, grid.spacing.y, grid.spacing.z};
}

}  // namespace

uint8_t Window::Gray(float hounsfield) const {
  if (std::isnan(hounsfield)) return 0;
  const double fraction = (hounsfield - center) / width + 0.5;
  return static_cast<uint8_t>(std::lround(255 * std::clamp(fraction, 0.0, 1.0)));
}

const char* Name(Plane plane) {
  switch (plane) {
    case Plane::kAxial:
      return "axial";
    case Plane::kCoronal:
      return "coronal";
    case Plane::kSagittal:
      return "sagittal";
  }
  return "";
}

SliceIndex MiddleSlices(const VolumeGrid& grid) { return {grid.nx / 2, grid.ny / 2, grid.nz / 2}; }

std::array<double, 2> PlaneExtent(const VolumeGrid& grid, Plane plane) {
  const Layout layout = LayoutOf(plane);
  return {Counts(grid)[layout.right] * Spacings(grid)[layout.right],
          Counts(grid)[layout.down] * Spacings(grid)[layout.down]};
}

PlaneSides SidesOf(const VolumeGrid& grid, Plane plane) {
  const Layout layout = LayoutOf(plane);
  return {.left = Letters(grid, layout.right, -1),
          .right = Letters(grid, layout.right, 1),
          .top = Letters(grid, layout.down, -layout.down_sign),
          .bottom = Letters(grid, layout.down, layout.down_sign)};
}

formats::GrayImage RenderPlane(const formats::Volume& volume, Plane plane, const SliceIndex& at,
                               const Window& window, double pixel_mm) {
  const VolumeGrid& grid = volume.grid;
  const Layout layout = LayoutOf(plane);
  const std::array<int, 3> counts = Counts(grid);
  const std::array<double, 3> spacings = Spacings(grid);
  const std::array<double, 2> extent = PlaneExtent(grid, plane);
  formats::GrayImage image(std::max(1, static_cast<int>(std::lround(extent[0] / pixel_mm))),
                           std::max(1, static_cast<int>(std::lround(extent[1] / pixel_mm))), 0);
  const HostView3<const float> voxels = volume.view();
  const auto value = [&](int right, int down) -> double {
    std::array<int, 3> index;
    index[layout.through] = at[layout.through];
    index[layout.right] = std::clamp(right, 0, counts[layout.right] - 1);
    index[layout.down] = std::clamp(down, 0, counts[layout.down] - 1);
    return voxels(index[2], index[1], index[0]);
  };
  for (int y = 0; y < image.height; ++y) {
    const double row = (y + 0.5) * pixel_mm / spacings[layout.down] - 0.5;
    const double down = layout.down_sign > 0 ? row : counts[layout.down] - 1 - row;
    const int d = static_cast<int>(std::floor(down));
    const double b = down - d;
    for (int x = 0; x < image.width; ++x) {
      const double right = (x + 0.5) * pixel_mm / spacings[layout.right] - 0.5;
      const int r = static_cast<int>(std::floor(right));
      const double a = right - r;
      const double mixed = (1 - b) * ((1 - a) * value(r, d) + a * value(r + 1, d)) +
                           b * ((1 - a) * value(r, d + 1) + a * value(r + 1, d + 1));
      image.at(x, y) = window.Gray(static_cast<float>(mixed));
    }
  }
  return image;
}

}  // namespace isocenter::imaging
