#include "client/imaging/sheet_marks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_format.h"
#include "client/imaging/label.h"

namespace isocenter::imaging {
namespace {

constexpr int kGreys = 96;  // pixels from black to white
constexpr int kSpace = 6;

void Fill(formats::GrayImage& image, int x, int y, int width, int height, uint8_t gray) {
  for (int row = std::max(0, y); row < std::min(image.height, y + height); ++row) {
    for (int column = std::max(0, x); column < std::min(image.width, x + width); ++column) {
      image.at(column, row) = gray;
    }
  }
}

std::string LowText(const Window& window) {
  return absl::StrFormat("%g", window.center - window.width / 2);
}
std::string HighText(const Window& window) {
  return absl::StrFormat("%g HU", window.center + window.width / 2);
}

}  // namespace

double ScaleBarMm(double most_mm) {
  const double power = std::pow(10, std::floor(std::log10(most_mm)));
  for (const double factor : {5.0, 2.0}) {
    if (factor * power <= most_mm) return factor * power;
  }
  return power;
}

int DrawScaleBar(formats::GrayImage& image, int x, int y, double mm, double pixel_mm, uint8_t ink,
                 int text) {
  const int length = static_cast<int>(std::lround(mm / pixel_mm));
  const std::string label = absl::StrFormat("%g mm", mm);
  constexpr int kTick = 2;
  Fill(image, x, y + text / 2, length, kTick, ink);
  Fill(image, x, y, kTick, text, ink);
  Fill(image, x + length - kTick, y, kTick, text, ink);
  DrawLabel(image, x + length + kSpace, y, label, ink, text);
  return x + length + kSpace + LabelWidth(label, text);
}

void DrawSides(formats::GrayImage& image, int x, int y, int width, int height,
               const PlaneSides& sides, uint8_t ink, int text) {
  const int space = text / 3;
  const auto centred = [&](const std::string& letters, int line) {
    DrawLabel(image, x + (width - LabelWidth(letters, text)) / 2.0, line, letters, ink, text);
  };
  const double middle = y + (height - text) / 2.0;
  centred(sides.top, y - space - text);
  centred(sides.bottom, y + height + space);
  DrawLabel(image, x - space - LabelWidth(sides.left, text), middle, sides.left, ink, text);
  DrawLabel(image, x + width + space, middle, sides.right, ink, text);
}

int GrayBarWidth(const Window& window, int text) {
  return LabelWidth(LowText(window), text) + LabelWidth(HighText(window), text) + kGreys +
         2 * kSpace;
}

int DrawGrayBar(formats::GrayImage& image, int x, int y, const std::string& low,
                const std::string& high, uint8_t ink, int text) {
  const int left = x + LabelWidth(low, text) + kSpace;
  DrawLabel(image, x, y, low, ink, text);
  for (int column = 0; column < kGreys; ++column) {
    Fill(image, left + column, y, 1, text, static_cast<uint8_t>(255 * (column + 0.5) / kGreys));
  }
  DrawLabel(image, left + kGreys + kSpace, y, high, ink, text);
  return left + kGreys + kSpace + LabelWidth(high, text);
}

int DrawGrayBar(formats::GrayImage& image, int x, int y, const Window& window, uint8_t ink,
                int text) {
  return DrawGrayBar(image, x, y, LowText(window), HighText(window), ink, text);
}

}  // namespace isocenter::imaging
