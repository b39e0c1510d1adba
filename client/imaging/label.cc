#include "client/imaging/label.h"

#include <algorithm>
#include <cmath>

#include "client/imaging/stroke_font.h"

namespace isocenter::imaging {
namespace {

/// Of a capital's height. Below a pixel lines would vanish.
constexpr double kLineShare = 0.11;
double LineWidth(double height) { return std::max(1.0, kLineShare * height); }

double DistanceTo(StrokePoint p, StrokePoint a, StrokePoint b) {
  const double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
  const double t =
      square > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / square, 0.0, 1.0) : 0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// Pixels whose middle is nearer than half the width are of the line, the next one a part.
void DrawLine(formats::GrayImage& image, StrokePoint a, StrokePoint b, double width, uint8_t gray) {
  const double reach = width / 2 + 1;
  const auto from = [&](double p, double q) {
    return std::max(0, static_cast<int>(std::floor(std::min(p, q) - reach)));
  };
  const auto to = [&](double p, double q, int end) {
    return std::min(end - 1, static_cast<int>(std::ceil(std::max(p, q) + reach)));
  };
  for (int y = from(a.y, b.y); y <= to(a.y, b.y, image.height); ++y) {
    for (int x = from(a.x, b.x); x <= to(a.x, b.x, image.width); ++x) {
      const double distance = DistanceTo({x + 0.5, y + 0.5}, a, b);
      const double share = std::clamp(width / 2 + 0.5 - distance, 0.0, 1.0);
      uint8_t& pixel = image.at(x, y);
      const double mixed = pixel + share * (gray - pixel);
      pixel = static_cast<uint8_t>(std::lround(mixed));
    }
  }
}

}  // namespace

int LabelWidth(absl::string_view text, double height) {
  double units = 0;
  for (const char character : text) units += GlyphOf(character).width;
  return static_cast<int>(std::ceil(units * height / kCapitalUnits));
}

void DrawLabel(formats::GrayImage& image, double x, double y, absl::string_view text, uint8_t gray,
               double height) {
  const double scale = height / kCapitalUnits;
  for (const char character : text) {
    const StrokeGlyph& glyph = GlyphOf(character);
    for (const std::vector<StrokePoint>& stroke : glyph.strokes) {
      for (size_t i = 1; i < stroke.size(); ++i) {
        const auto placed = [&](StrokePoint p) {
          return StrokePoint{x + p.x * scale, y + p.y * scale};
        };
        DrawLine(image, placed(stroke[i - 1]), placed(stroke[i]), LineWidth(height), gray);
      }
    }
    x += glyph.width * scale;
  }
}

}  // namespace isocenter::imaging
