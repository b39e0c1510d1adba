#include "proto/images/png.h"

#include <png.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace isocenter::images {

absl::StatusOr<std::string> EncodePng(const GrayImage& image) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  png.width = image.width;
  png.height = image.height;
  png.format = PNG_FORMAT_GRAY;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string encoded(bytes, '\0');
  if (!png_image_write_to_memory(&png, encoded.data(), &bytes, 0, image.pixels.data(), 0,
                                 nullptr)) {
    return absl::InternalError(absl::StrCat("cannot encode a PNG: ", png.message));
  }
  encoded.resize(bytes);
  return encoded;
}

}  // namespace isocenter::images
