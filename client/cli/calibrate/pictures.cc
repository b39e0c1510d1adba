#include "client/cli/calibrate/pictures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "absl/strings/str_format.h"
#include "client/imaging/label.h"
#include "client/imaging/plot_axis.h"
#include "client/imaging/plot_panel.h"
#include "client/imaging/sheet_marks.h"
#include "kernels/base/units.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::cli {
namespace {

using imaging::CurvePoint;

constexpr int kPanelWidth = 900, kPanelHeight = 420;
constexpr int kMapWidth = 640;  // of a map, at most
constexpr int kText = 14;       // height of capitals
constexpr int kGap = 12, kLine = kText + kGap;
constexpr int kRowNumbers = 60;  // left of a map
constexpr int kTick = 5;
constexpr uint8_t kInk = 0, kPaper = 255;
constexpr double kAirWindow = 0.15;

struct Panel {
  imaging::PlotAxes axes;
  std::vector<CurvePoint> points;
};

formats::GrayImage Panels(const std::vector<Panel>& panels) {
  formats::GrayImage image(kPanelWidth, static_cast<int>(panels.size()) * kPanelHeight, 255);
  int y = 0;
  for (const Panel& panel : panels) {
    imaging::DrawCurve(image, {.y = y, .width = kPanelWidth, .height = kPanelHeight}, panel.axes,
                       panel.points);
    y += kPanelHeight;
  }
  return image;
}

/// How a detector's pixels become those of a picture: `block` x `block` in one, or one as `zoom` x
/// `zoom`.
struct MapScale {
  int block = 1, zoom = 1;
  int width = 0, height = 0;  // of the picture
  double PixelsPerPixel() const { return double(zoom) / block; }
};

MapScale ScaleOf(const Detector& detector) {
  MapScale scale{.block = (detector.columns + kMapWidth - 1) / kMapWidth,
                 .zoom = std::max(1, kMapWidth / detector.columns)};
  scale.width = (detector.columns + scale.block - 1) / scale.block * scale.zoom;
  scale.height = (detector.rows + scale.block - 1) / scale.block * scale.zoom;
  return scale;
}

/// The darkest pixel of a block counts.
void DrawMap(formats::GrayImage& image, int x, int y, const MapScale& scale,
             const Detector& detector, const std::function<double(size_t)>& gray) {
  for (int v = 0; v < detector.rows; ++v) {
    for (int u = 0; u < detector.columns; ++u) {
      const double value = gray(size_t(v) * detector.columns + u);
      const auto ink = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
      for (int dy = 0; dy < scale.zoom; ++dy) {
        for (int dx = 0; dx < scale.zoom; ++dx) {
          uint8_t& pixel = image.at(x + u / scale.block * scale.zoom + dx,
                                    y + v / scale.block * scale.zoom + dy);
          pixel = std::min(pixel, ink);
        }
      }
    }
  }
}

/// With a length also where there is one pixel.
imaging::AxisRange RangeOf(int pixels) {
  return {0, std::max(1.0, static_cast<double>(pixels - 1))};
}

/// Columns below and rows to the left of a map whose upper left corner is at (x, y), counted from
/// 0 as in tables of defects.
void DrawPixelNumbers(formats::GrayImage& image, int x, int y, const MapScale& scale,
                      const Detector& detector) {
  const auto place = [&](double pixel) {
    return static_cast<int>((pixel + 0.5) * scale.PixelsPerPixel());
  };
  for (const imaging::Tick& tick : imaging::TicksOf(RangeOf(detector.columns))) {
    const int column = x + place(tick.at), below = y + scale.height;
    for (int i = 1; i < kTick; ++i) image.at(column, below + i) = kInk;
    const int width = imaging::LabelWidth(tick.text, kText);
    imaging::DrawLabel(image, column - width / 2.0, below + kTick + 2, tick.text, kInk, kText);
  }
  for (const imaging::Tick& tick : imaging::TicksOf(RangeOf(detector.rows))) {
    const int row = y + place(tick.at);
    for (int i = 1; i < kTick; ++i) image.at(x - i, row) = kInk;
    const int width = imaging::LabelWidth(tick.text, kText);
    imaging::DrawLabel(image, x - kTick - 4 - width, row - kText / 2.0, tick.text, kInk, kText);
  }
}

}  // namespace

formats::GrayImage PictureOf(const calibrate::DetectorFit& fit, const Detector& detector) {
  const MapScale scale = ScaleOf(detector);
  const int left = kRowNumbers, right = 2 * kRowNumbers + scale.width;
  const int below = 2 * kLine + scale.height + kTick;  // where what greys and lengths mean stands
  formats::GrayImage image(right + scale.width + kRowNumbers / 2, below + kLine, kPaper);
  const std::vector<float>& air = fit.response.air_counts;
  const double median = calibrate::Median(calibrate::Thinned(air, 1 << 16));
  imaging::DrawLabel(image, left, kGap / 2.0, "air map, by column and row", kInk, kText);
  DrawMap(image, left, kLine, scale, detector,
          [&](size_t i) { return 127.5 + 127.5 * (air[i] / median - 1) / kAirWindow; });
  const auto counts = [&](double share) { return absl::StrFormat("%.0f", share * median); };
  imaging::DrawGrayBar(image, left, below, counts(1 - kAirWindow),
                       counts(1 + kAirWindow) + " counts", kInk, kText);
  imaging::DrawLabel(image, right, kGap / 2.0, "defects, black", kInk, kText);
  DrawMap(image, right, kLine, scale, detector,
          [&](size_t i) { return fit.defects.kinds[i] == calibrate::Defect::kNone ? 255.0 : 0.0; });
  const double pixel_mm = detector.pitch_u_mm / scale.PixelsPerPixel();
  imaging::DrawScaleBar(image, right, below, imaging::ScaleBarMm(scale.width * pixel_mm / 4),
                        pixel_mm, kInk, kText);
  for (const int x : {left, right}) DrawPixelNumbers(image, x, kLine, scale, detector);
  return image;
}

formats::GrayImage PictureOf(const calibrate::LagFit& fit, std::span<const double> signals) {
  Panel before{
      {.title = "dark frames before, percent of air", .x_label = "frame", .logarithmic = true}, {}};
  Panel after{{.title = "dark frames after, percent of air", .x_label = "frame"}, {}};
  for (size_t k = 0; k < fit.residual.size(); ++k) {
    const auto frame = static_cast<double>(k);
    before.points.push_back({frame, 100 * signals[fit.flat_frames + k]});
    after.points.push_back({frame, 100 * fit.residual[k]});
  }
  return Panels({before, after});
}

formats::GrayImage PictureOf(const calibrate::GlareFit& fit) {
  Panel seen{{.title = "frame, percent of air", .x_label = "mm along a row", .logarithmic = true},
             {}};
  Panel left{{.title = "left by the fit, percent of air", .x_label = "mm"}, {}};
  for (const calibrate::GlareFit::Point& point : fit.profile) {
    seen.points.push_back({point.mm, 100 * point.signal});
    left.points.push_back({point.mm, 100 * point.left});
  }
  return Panels({seen, left});
}

formats::GrayImage PictureOf(const calibrate::WaterFit& fit) {
  Panel measured{{.title = "line integral", .x_label = "mm of water"}, {}};
  Panel left{{.title = "left by the polynomial, mm of water", .x_label = "mm of water"}, {}};
  for (const calibrate::WaterPoint& point : fit.points) {
    measured.points.push_back({point.water_mm, point.line_integral});
    left.points.push_back({point.water_mm, point.found_mm - point.water_mm});
  }
  return Panels({measured, left});
}

formats::GrayImage PictureOf(const calibrate::AirSweepFit& fit, const Detector& detector) {
  Panel middle{{.title = "middle, percent of the air map", .x_label = "degrees"}, {}};
  Panel side{{.title = "first columns, percent of the air map", .x_label = "degrees"}, {}};
  const int across = ops::AirSweep::Blocks(detector.columns);
  const int down = ops::AirSweep::Blocks(detector.rows);
  for (size_t i = 0; i < fit.sweep.angles.size(); ++i) {
    const float* row = &fit.sweep.relative[(i * down + down / 2) * across];
    const double degrees = RadiansToDegrees(fit.sweep.angles[i]);
    middle.points.push_back({degrees, 100 * row[across / 2]});
    side.points.push_back({degrees, 100 * row[0]});
  }
  return Panels({middle, side});
}

formats::GrayImage PictureOf(const calibrate::BoneFit& fit,
                             const std::vector<calibrate::BoneStep>& steps) {
  Panel before{{.title = "line integral missed without the table", .x_label = "mm of bone"}, {}};
  Panel after{{.title = "missed with the table of the other steps", .x_label = "mm of bone"}, {}};
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return steps[i].bone_mm; });
  for (const size_t i : order) {
    before.points.push_back({steps[i].bone_mm, fit.missed_before[i]});
    after.points.push_back({steps[i].bone_mm, fit.missed_after[i]});
  }
  return Panels({before, after});
}

formats::GrayImage PictureOf(const calibrate::ScatterFit& fit, const calibrate::ScatterView& view,
                             const calibrate::CoarseShape& shape) {
  Panel measured{{.title = "scatter, percent of air", .x_label = "mm along the middle row"}, {}};
  Panel missed{{.title = "kernels less scatter, percent of air", .x_label = "mm"}, {}};
  const size_t first = size_t(shape.rows / 2) * shape.columns;
  for (int u = 0; u < shape.columns; ++u) {
    measured.points.push_back({u * shape.pitch_u_mm, 100 * view.scatter[first + u]});
    missed.points.push_back({u * shape.pitch_u_mm, 100 * fit.missed[first + u]});
  }
  return Panels({measured, missed});
}

formats::GrayImage PictureOfFraction(double fraction) {
  const double from = calibrate::kLeastScatteringMm, percent = 100 * fraction;
  Panel step{{.title = "scatter, percent of the primary", .x_label = "mm of water"}, {}};
  step.points = {{0, 0}, {from, 0}, {from, percent}, {10 * from, percent}};
  return Panels({step});
}

formats::GrayImage PictureOf(const calibrate::GeometryFit& fit) {
  Panel residual{{.title = "residual of the balls (measured less expected place), rms, px",
                  .x_label = "frame"},
                 {}};
  Panel balls{{.title = "balls measured", .x_label = "frame"}, {}};
  Panel radius{{.title = "source to origin, mm", .x_label = "frame"}, {}};
  Panel height{{.title = "source along z, mm", .x_label = "frame"}, {}};
  for (size_t k = 0; k < fit.frames.size(); ++k) {
    const auto frame = static_cast<double>(k);
    residual.points.push_back({frame, fit.frames[k].rms_px});
    balls.points.push_back({frame, static_cast<double>(fit.frames[k].measured)});
    const absl::StatusOr<Camera> camera = Decompose(fit.matrices[k]);
    if (!camera.ok()) continue;
    radius.points.push_back({frame, Norm(camera->source)});
    height.points.push_back({frame, camera->source.z});
  }
  return Panels({residual, balls, radius, height});
}

formats::GrayImage PictureOf(const calibrate::ScatterModelFit& fit,
                             const calibrate::ModelledView& view, int columns, int rows,
                             double pitch_mm) {
  Panel measured{{.title = "scatter, percent of air", .x_label = "mm along the middle row"}, {}};
  Panel missed{{.title = "model less scatter, percent of air", .x_label = "mm"}, {}};
  const size_t first = size_t(rows / 2) * columns;
  for (int u = 0; u < columns; ++u) {
    const double scatter = view.scatter[first + u], model = fit.model.scale * view.model[first + u];
    measured.points.push_back({u * pitch_mm, 100 * scatter});
    missed.points.push_back({u * pitch_mm, 100 * (model - scatter)});
  }
  return Panels({measured, missed});
}

formats::GrayImage PictureOf(const calibrate::HounsfieldFit& fit) {
  Panel table{{.title = "true HU", .x_label = "reconstructed HU"}, {}};
  Panel error{{.title = "reconstructed less true HU", .x_label = "true HU"}, {}};
  for (const auto& [measured, truth] : fit.table.points) {
    table.points.push_back({measured, truth});
    error.points.push_back({truth, measured - truth});
  }
  return Panels({table, error});
}

formats::GrayImage PictureOf(const quality::WaterCylinder& seen) {
  Panel water{{.title = "water, HU", .x_label = "mm from the axis"}, {}};
  Panel all{{.title = "water, border and air, HU", .x_label = "mm from the axis"}, {}};
  for (const auto& [radius, mean] : seen.profile) {
    all.points.push_back({radius, mean});
    if (radius < quality::kWaterPart * seen.seen_mm / 2) water.points.push_back({radius, mean});
  }
  return Panels({water, all});
}

}  // namespace isocenter::cli
