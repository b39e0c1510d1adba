#include "client/imaging/label.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// How far a point is from the nearest line of a glyph, in its units.
double DistanceTo(StrokePoint p, const StrokeGlyph& glyph) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<StrokePoint>& stroke : glyph.strokes) {
    for (size_t i = 1; i < stroke.size(); ++i) {
      least = std::min(least, DistanceTo(p, stroke[i - 1], stroke[i]));
    }
  }
  return least;
}

/// With its upper left corner at (left, top). Pixels whose middle is nearer to a line than half its
/// width are ink, the next one a part.
void DrawGlyph(formats::GrayImage& image, double left, double top, const StrokeGlyph& glyph,
               double height, uint8_t gray) {
  const double scale = height / kCapitalUnits, half = LineWidth(height) / 2, reach = half + 1;
  const int x0 = std::max(0, static_cast<int>(left - reach));
  const int y0 = std::max(0, static_cast<int>(top - reach));
  const int x1 = std::min(image.width - 1, static_cast<int>(left + glyph.width * scale));
  const int y1 =
      std::min(image.height - 1, static_cast<int>(top + kDescenderUnits * scale + reach));
  for (int y = y0; y <= y1; ++y) {
    for (int x = x0; x <= x1; ++x) {
      const StrokePoint middle{(x + 0.5 - left) / scale, (y + 0.5 - top) / scale};
      const double share = std::clamp(half + 0.5 - scale * DistanceTo(middle, glyph), 0.0, 1.0);
      uint8_t& pixel = image.at(x, y);
      pixel = static_cast<uint8_t>(std::lround(pixel + share * (gray - pixel)));
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
  for (const char character : text) {
    const StrokeGlyph& glyph = GlyphOf(character);
    if (!glyph.strokes.empty()) DrawGlyph(image, x, y, glyph, height, gray);
    x += glyph.width * height / kCapitalUnits;
  }
}

}  // namespace isocenter::imaging
