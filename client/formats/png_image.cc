#include "client/formats/png_image.h"

#include "client/formats/file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {

absl::Status WritePng(const std::filesystem::path& path, const GrayImage& image) {
  ISO_ASSIGN_OR_RETURN(const std::string encoded, EncodePng(image));
  return WriteText(path, encoded);
}

}  // namespace isocenter::formats
