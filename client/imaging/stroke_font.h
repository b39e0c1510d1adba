// A font of lines, which can be drawn in any size.
#pragma once

#include <vector>

namespace isocenter::imaging {

/// In units of a twelfth of a capital's height: x to the right, y down from the top of a capital.
/// The baseline is at 12, descenders reach 16.
struct StrokePoint {
  double x = 0, y = 0;
};
inline constexpr double kCapitalUnits = 12, kDescenderUnits = 16;

struct StrokeGlyph {
  double width = 0;                               // to where the next one begins
  std::vector<std::vector<StrokePoint>> strokes;  // points to be joined by straight lines
};

/// Printable ASCII but for " ! " # $ & @ \ ` { } ~", which are a blank, as all other characters.
const StrokeGlyph& GlyphOf(char character);

}  // namespace isocenter::imaging
