#include "client/imaging/plot_panel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/imaging/label.h"

namespace isocenter::imaging {
namespace {

constexpr uint8_t kInk = 0, kAxis = 90, kLine = 215;
constexpr int kLabelScale = 2;
constexpr int kLeft = 120, kRight = 20, kTop = 34, kBottom = 56;  // around the diagram
constexpr int kMostTicks = 6;

void Dot(formats::GrayImage& image, int x, int y, int radius, uint8_t gray) {
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const int px = x + dx, py = y + dy;
      if (px >= 0 && py >= 0 && px < image.width && py < image.height) image.at(px, py) = gray;
    }
  }
}

void Segment(formats::GrayImage& image, double x0, double y0, double x1, double y1, int radius,
             uint8_t gray) {
  const int steps = std::max(1, static_cast<int>(std::max(std::abs(x1 - x0), std::abs(y1 - y0))));
  for (int i = 0; i <= steps; ++i) {
    const double t = static_cast<double>(i) / steps;
    Dot(image, static_cast<int>(std::lround(x0 + t * (x1 - x0))),
        static_cast<int>(std::lround(y0 + t * (y1 - y0))), radius, gray);
  }
}

// The least of 1, 2, 5 times a power of ten that divides `span` into few parts.
double RoundStep(double span, double least) {
  const double raw = std::max(span / kMostTicks, least);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

struct Range {
  double low = 0, high = 1;
  double Share(double value) const { return (value - low) / (high - low); }
};

// Over all curves; at least one has a point.
Range RangeOf(std::span<const Curve> curves, double CurvePoint::*value) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      range.low = std::min(range.low, point.*value);
      range.high = std::max(range.high, point.*value);
    }
  }
  if (range.high > range.low) return range;
  const double margin = std::max(std::abs(range.low) * 0.05, 1e-6);  // a single value
  return {range.low - margin, range.high + margin};
}

std::vector<double> TicksOf(const Range& range, double step) {
  std::vector<double> ticks;
  const double slack = 1e-9 * (range.high - range.low);
  for (double i = std::ceil((range.low - slack) / step); i * step <= range.high + slack; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

// Where a diagram is in the image, and what it shows.
struct Diagram {
  int left, right, top, bottom;
  Range horizontal, vertical;
  double X(double x) const { return left + horizontal.Share(x) * (right - left); }
  double Y(double y) const { return bottom - vertical.Share(y) * (bottom - top); }
};

// The points that can be drawn, with logarithms where they are asked for.
std::vector<Curve> Shown(const PlotAxes& axes, std::span<const Curve> curves) {
  std::vector<Curve> all;
  for (const Curve& curve : curves) {
    Curve shown{.name = curve.name, .points = {}};
    for (const CurvePoint& point : curve.points) {
      if (axes.logarithmic && !(point.y > 0)) continue;
      const double y = axes.logarithmic ? std::log10(point.y) : point.y;
      if (std::isfinite(point.x) && std::isfinite(y)) shown.points.push_back({point.x, y});
    }
    if (!shown.points.empty()) all.push_back(std::move(shown));
  }
  return all;
}

void DrawTicks(formats::GrayImage& image, const Diagram& d, bool logarithmic) {
  for (const double tick :
       TicksOf(d.horizontal, RoundStep(d.horizontal.high - d.horizontal.low, 1))) {
    const int x = static_cast<int>(std::lround(d.X(tick)));
    Segment(image, x, d.top, x, d.bottom, 0, kLine);
    const std::string text = absl::StrFormat("%.0f", tick);
    DrawLabel(image, x - LabelWidth(text, kLabelScale) / 2, d.bottom + 8, text, kInk, kLabelScale);
  }
  for (const double tick : TicksOf(d.vertical, RoundStep(d.vertical.high - d.vertical.low, 0))) {
    const int y = static_cast<int>(std::lround(d.Y(tick)));
    Segment(image, d.left, y, d.right, y, 0, kLine);
    const std::string text = absl::StrFormat("%.3g", logarithmic ? std::pow(10, tick) : tick);
    DrawLabel(image, d.left - 8 - LabelWidth(text, kLabelScale), y - kGlyphHeight, text, kInk,
              kLabelScale);
  }
}

// Of the n-th curve of a diagram. `on` pixels of line, then as many without; 0: no gaps.
struct Stroke {
  int on;
  uint8_t gray;
};
Stroke StrokeOf(size_t n) {
  constexpr int kDashes[] = {0, 24, 10, 4};
  return {kDashes[n % 4], n < 4 ? kInk : uint8_t{140}};
}

// A segment with gaps; `done` pixels of the curve lie before it.
void DashedSegment(formats::GrayImage& image, double x0, double y0, double x1, double y1,
                   const Stroke& stroke, double& done) {
  const double length = std::hypot(x1 - x0, y1 - y0);
  const int steps = std::max(1, static_cast<int>(length));
  for (int i = 0; i < steps; ++i) {
    const double a = static_cast<double>(i) / steps, b = static_cast<double>(i + 1) / steps;
    const int at = static_cast<int>(done + a * length);
    if (stroke.on > 0 && at / stroke.on % 2 == 1) continue;
    Segment(image, x0 + a * (x1 - x0), y0 + a * (y1 - y0), x0 + b * (x1 - x0), y0 + b * (y1 - y0),
            1, stroke.gray);
  }
  done += length;
}

void DrawPoints(formats::GrayImage& image, const Diagram& d, const Curve& curve,
                const Stroke& stroke) {
  constexpr size_t kManyPoints = 64;  // dots would cover the dashes
  double done = 0;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const double x = d.X(curve.points[i].x), y = d.Y(curve.points[i].y);
    if (curve.points.size() <= kManyPoints) {
      Dot(image, static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y)), 3,
          stroke.gray);
    }
    if (i == 0) continue;
    const CurvePoint& before = curve.points[i - 1];
    DashedSegment(image, d.X(before.x), d.Y(before.y), x, y, stroke, done);
  }
}

void DrawNames(formats::GrayImage& image, const Diagram& d, std::span<const Curve> curves) {
  constexpr int kSample = 60, kGap = 10, kRow = kGlyphHeight * kLabelScale + 6;
  int widest = 0;
  for (const Curve& curve : curves) widest = std::max(widest, LabelWidth(curve.name, kLabelScale));
  int y = d.top + kGap;
  for (size_t n = 0; n < curves.size(); ++n, y += kRow) {
    const int x = d.right - kGap - widest;
    double done = 0;
    DashedSegment(image, x - kGap - kSample, y + kGlyphHeight, x - kGap, y + kGlyphHeight,
                  StrokeOf(n), done);
    DrawLabel(image, x, y, curves[n].name, kInk, kLabelScale);
  }
}

}  // namespace

void DrawCurves(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
                std::span<const Curve> curves) {
  const std::vector<Curve> shown = Shown(axes, curves);
  DrawLabel(image, area.x + kLeft, area.y + 8, axes.title, kInk, kLabelScale);
  DrawLabel(
      image,
      area.x + kLeft + (area.width - kLeft - kRight - LabelWidth(axes.x_label, kLabelScale)) / 2,
      area.y + area.height - 20, axes.x_label, kInk, kLabelScale);
  Diagram d{.left = area.x + kLeft,
            .right = area.x + area.width - kRight,
            .top = area.y + kTop,
            .bottom = area.y + area.height - kBottom};
  if (!shown.empty()) {
    d.horizontal = RangeOf(shown, &CurvePoint::x);
    d.vertical = RangeOf(shown, &CurvePoint::y);
    DrawTicks(image, d, axes.logarithmic);
    for (size_t n = 0; n < shown.size(); ++n) DrawPoints(image, d, shown[n], StrokeOf(n));
    if (shown.size() > 1) DrawNames(image, d, shown);
  }
  Segment(image, d.left, d.top, d.left, d.bottom, 0, kAxis);
  Segment(image, d.left, d.bottom, d.right, d.bottom, 0, kAxis);
}

void DrawCurve(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
               std::span<const CurvePoint> points) {
  const Curve curve{.name = "", .points = {points.begin(), points.end()}};
  DrawCurves(image, area, axes, {&curve, 1});
}

}  // namespace isocenter::imaging
