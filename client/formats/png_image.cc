#include "client/formats/png_image.h"

#include <png.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {

absl::Status WritePng(const std::filesystem::path& path, const GrayImage& image) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  png.width = image.width;
  png.height = image.height;
  png.format = PNG_FORMAT_GRAY;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<std::byte> encoded(bytes);
  if (!png_image_write_to_memory(&png, encoded.data(), &bytes, 0, image.pixels.data(), 0,
                                 nullptr)) {
    return absl::InternalError(absl::StrCat("cannot encode ", path.string(), ": ", png.message));
  }
  ISO_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  ISO_RETURN_IF_ERROR(file.Write(std::span(encoded).first(bytes)));
  return file.Commit();
}

}  // namespace isocenter::formats
