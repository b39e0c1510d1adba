#include "client/imaging/stroke_font.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace isocenter::imaging {
namespace {

/// Strokes with '|' between them. A point is two digits of base 36, x and y. '~' begins a stroke
/// through which a smooth curve goes; it is closed where it ends as it begins.
struct Drawn {
  char character;
  int width;
  const char* strokes;
};

constexpr double kGap = 3;

constexpr Drawn kFont[] = {
    // clang-format off
    {'A', 8, "0c408c|1979"},
    {'B', 7, "40000c4c|0646|~4061736546|~4667787a6b4c"},
    {'C', 8, "~8361402104082b4c6b89"},
    {'D', 8, "30000c3c|~306184886b3c"},
    {'E', 7, "70000c7c|0656"},
    {'F', 7, "70000c|0656"},
    {'G', 8, "~8361402104082b4c6b89|898757"},
    {'H', 8, "000c|808c|0686"},
    {'I', 2, "101c"},
    {'J', 6, "6069|~695b3c1b09"},
    {'K', 8, "000c|7007|348c"},
    {'L', 7, "000c7c"},
    {'M', 9, "0c0048808c"},
    {'N', 8, "0c008c80"},
    {'O', 8, "~406184886b4c2b08042140"},
    {'P', 7, "40000c|4707|~406173746647"},
    {'Q', 8, "~406184886b4c2b08042140|598d"},
    {'R', 7, "40000c|4707|~406173746647|477c"},
    {'S', 7, "~725030110315364667796b4c2c0a"},
    {'T', 8, "0080|404c"},
    {'U', 8, "0008|8088|~081b3c5c7b88"},
    {'V', 8, "004c80"},
    {'W', 10, "003c507ca0"},
    {'X', 8, "008c|800c"},
    {'Y', 8, "004680|464c"},
    {'Z', 8, "00800c8c"},
    {'0', 7, "~406174786b4c3c1b0804113040"},
    {'1', 7, "13404c|1c7c"},
    {'2', 7, "~03113050727457|570c7c"},
    {'3', 7, "~02205072745636|~3656787a5c2c0a"},
    {'4', 7, "5c500878"},
    {'5', 7, "601005|~05244466787a5c2c0a"},
    {'6', 7, "~6250301205092c5c7a77552508"},
    {'7', 7, "00703c"},
    {'8', 7, "~406164463614113040|~46677a5c2c0a173646"},
    {'9', 7, "~1a2c4c6a777350200205275774"},
    {'a', 6, "646c|~3415081b3c5b685534"},
    {'b', 6, "000c|~3415081b3c5b685534"},
    {'c', 6, "~66443415081b3c4c6a"},
    {'d', 6, "606c|~3415081b3c5b685534"},
    {'e', 6, "0868|~68553415081b3c5c6a"},
    {'f', 4, "242c|0444|~40302224"},
    {'g', 6, "646e|~3415081b3c5b685534|~6e5g3g1f"},
    {'h', 6, "000c|686c|~0724446668"},
    {'i', 2, "141c|1011"},
    {'j', 3, "242e|2021|~2e1g0g"},
    {'k', 6, "000c|6409|276c"},
    {'l', 2, "101c"},
    {'m', 10, "040c|585c|a8ac|~0724345658|~577484a6a8"},
    {'n', 6, "040c|686c|~0724446668"},
    {'o', 6, "~3415081b3c5b685534"},
    {'p', 6, "040g|~3415081b3c5b685534"},
    {'q', 6, "646g|~3415081b3c5b685534"},
    {'r', 5, "040c|~07244455"},
    {'s', 6, "~6544240627496a4c2c0b"},
    {'t', 5, "2129|0454|~293b4c5b"},
    {'u', 6, "0409|646c|~092c4c69"},
    {'v', 6, "043c64"},
    {'w', 8, "042c456c84"},
    {'x', 6, "046c|640c"},
    {'y', 6, "043c|642f0g"},
    {'z', 6, "04640c6c"},
    {'.', 2, "1b1c"},
    {',', 2, "1b0e"},
    {':', 2, "1b1c|1516"},
    {';', 2, "1b0e|1516"},
    {'-', 6, "1858"},
    {'+', 6, "0868|353b"},
    {'=', 6, "0666|0a6a"},
    {'_', 6, "0d6d"},
    {'|', 2, "101e"},
    {'/', 6, "600d"},
    {'(', 4, "~40131b4e"},
    {')', 4, "~00232b0e"},
    {'[', 4, "30101e3e"},
    {']', 4, "00202e0e"},
    {'<', 6, "64086c"},
    {'>', 6, "04680c"},
    {'^', 6, "033063"},
    {'*', 6, "353b|066a|0a66"},
    {'\'', 2, "1013"},
    {'?', 6, "~02103050626436|3638|3b3c"},
    {'%', 8, "800c|~2042240220|~688a6c4a68"},
    // clang-format on
};

double Digit(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

/// Between b and c of four points: Catmull and Rom's curve.
StrokePoint Between(StrokePoint a, StrokePoint b, StrokePoint c, StrokePoint d, double t) {
  const auto value = [t](double a, double b, double c, double d) {
    return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t * t +
                  (3 * b - a - 3 * c + d) * t * t * t);
  };
  return {value(a.x, b.x, c.x, d.x), value(a.y, b.y, c.y, d.y)};
}

std::vector<StrokePoint> Smooth(const std::vector<StrokePoint>& points) {
  constexpr int kSteps = 6;
  const int last = static_cast<int>(points.size()) - 1;
  const bool closed = points.front().x == points.back().x && points.front().y == points.back().y;
  const auto at = [&](int i) {
    if (closed) return points[(i + last) % last];
    return points[i < 0 ? 0 : i > last ? last : i];
  };
  std::vector<StrokePoint> curve{points.front()};
  for (int i = 0; i < last; ++i) {
    for (int step = 1; step <= kSteps; ++step) {
      curve.push_back(Between(at(i - 1), at(i), at(i + 1), at(i + 2), double(step) / kSteps));
    }
  }
  return curve;
}

StrokeGlyph Read(const Drawn& drawn) {
  StrokeGlyph glyph{.width = drawn.width + kGap, .strokes = {}};
  for (absl::string_view text : absl::StrSplit(drawn.strokes, '|')) {
    const bool smooth = text.front() == '~';
    const absl::string_view digits = text.substr(smooth ? 1 : 0);
    std::vector<StrokePoint> points;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      points.push_back({Digit(digits[i]), Digit(digits[i + 1])});
    }
    glyph.strokes.push_back(smooth ? Smooth(points) : std::move(points));
  }
  return glyph;
}

std::array<StrokeGlyph, 128> ReadFont() {
  std::array<StrokeGlyph, 128> font;
  font.fill({.width = 5 + kGap, .strokes = {}});
  for (const Drawn& drawn : kFont) font[static_cast<size_t>(drawn.character)] = Read(drawn);
  return font;
}

}  // namespace

const StrokeGlyph& GlyphOf(char character) {
  static const auto& font = *new std::array<StrokeGlyph, 128>(ReadFont());
  const auto code = static_cast<unsigned char>(character);
  return font[code < font.size() ? code : ' '];
}

}  // namespace isocenter::imaging
