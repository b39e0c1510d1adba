#include "client/imaging/plot_panel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

Range RangeOf(std::span<const CurvePoint> points, double CurvePoint::*value) {
  Range range{points[0].*value, points[0].*value};
  for (const CurvePoint& point : points) {
    range.low = std::min(range.low, point.*value);
    range.high = std::max(range.high, point.*value);
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

}  // namespace

void DrawCurve(formats::GrayImage& image, const PlotArea& area, const PlotAxes& axes,
               std::span<const CurvePoint> points) {
  std::vector<CurvePoint> shown;
  for (const CurvePoint& point : points) {
    if (axes.logarithmic && !(point.y > 0)) continue;
    const double y = axes.logarithmic ? std::log10(point.y) : point.y;
    if (std::isfinite(point.x) && std::isfinite(y)) shown.push_back({point.x, y});
  }
  DrawLabel(image, area.x + kLeft, area.y + 8, axes.title, kInk, kLabelScale);
  DrawLabel(
      image,
      area.x + kLeft + (area.width - kLeft - kRight - LabelWidth(axes.x_label, kLabelScale)) / 2,
      area.y + area.height - 20, axes.x_label, kInk, kLabelScale);
  const int left = area.x + kLeft, right = area.x + area.width - kRight;
  const int top = area.y + kTop, bottom = area.y + area.height - kBottom;
  if (!shown.empty()) {
    const Range horizontal = RangeOf(shown, &CurvePoint::x);
    const Range vertical = RangeOf(shown, &CurvePoint::y);
    const auto to_x = [&](double x) { return left + horizontal.Share(x) * (right - left); };
    const auto to_y = [&](double y) { return bottom - vertical.Share(y) * (bottom - top); };
    for (const double tick : TicksOf(horizontal, RoundStep(horizontal.high - horizontal.low, 1))) {
      const int x = static_cast<int>(std::lround(to_x(tick)));
      Segment(image, x, top, x, bottom, 0, kLine);
      const std::string text = absl::StrFormat("%.0f", tick);
      DrawLabel(image, x - LabelWidth(text, kLabelScale) / 2, bottom + 8, text, kInk, kLabelScale);
    }
    for (const double tick : TicksOf(vertical, RoundStep(vertical.high - vertical.low, 0))) {
      const int y = static_cast<int>(std::lround(to_y(tick)));
      Segment(image, left, y, right, y, 0, kLine);
      const std::string text =
          absl::StrFormat("%.3g", axes.logarithmic ? std::pow(10, tick) : tick);
      DrawLabel(image, left - 8 - LabelWidth(text, kLabelScale), y - kGlyphHeight, text, kInk,
                kLabelScale);
    }
    for (size_t i = 0; i < shown.size(); ++i) {
      const double x = to_x(shown[i].x), y = to_y(shown[i].y);
      Dot(image, static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y)), 3, kInk);
      if (i > 0) Segment(image, to_x(shown[i - 1].x), to_y(shown[i - 1].y), x, y, 1, kInk);
    }
  }
  Segment(image, left, top, left, bottom, 0, kAxis);
  Segment(image, left, bottom, right, bottom, 0, kAxis);
}

}  // namespace isocenter::imaging
