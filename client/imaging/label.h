// Small text in images.
#pragma once

#include "absl/strings/string_view.h"
#include "client/formats/png_image.h"

namespace isocenter::imaging {

inline constexpr int kGlyphWidth = 6;   // with the gap to the next one, at scale 1
inline constexpr int kGlyphHeight = 7;  // pixels, at scale 1

/// Draws capital letters, digits and ". , - + / ( ) : =" with (x, y) as the upper left corner;
/// lower case is drawn as capitals, other characters as blanks. Clipped at the image's edges.
void DrawLabel(formats::GrayImage& image, int x, int y, absl::string_view text, uint8_t gray,
               int scale);
/// Width of a label in pixels.
int LabelWidth(absl::string_view text, int scale);

}  // namespace isocenter::imaging
