// Grey pictures and their PNG files in memory; for server and client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter::images {

/// An 8-bit grey image, row by row from the top.
struct GrayImage {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;

  GrayImage() = default;
  GrayImage(int width, int height, uint8_t gray)
      : width(width), height(height), pixels(size_t(width) * height, gray) {}
  uint8_t& at(int x, int y) { return pixels[size_t(y) * width + x]; }
  uint8_t at(int x, int y) const { return pixels[size_t(y) * width + x]; }
};

/// The bytes of a PNG file. Errors: INTERNAL.
absl::StatusOr<std::string> EncodePng(const GrayImage& image);

}  // namespace isocenter::images
