// Text in images.
#pragma once

#include "absl/strings/string_view.h"
#include "client/formats/png_image.h"

namespace isocenter::imaging {

/// Draws text in lines of a font that has any size (stroke_font.h), with smooth edges. (x, y) is
/// the upper left corner of a capital of `height` pixels; descenders reach a third of that below
/// it. Clipped at the image's edges.
void DrawLabel(formats::GrayImage& image, double x, double y, absl::string_view text, uint8_t gray,
               double height);
/// Width of a label in pixels.
int LabelWidth(absl::string_view text, double height);

}  // namespace isocenter::imaging
