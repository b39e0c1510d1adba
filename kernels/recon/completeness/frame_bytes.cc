#include "kernels/recon/completeness/frame_bytes.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::recon {
namespace {

/// "; float32 pixels would have as many: ..."; empty where no pixels would.
std::string OtherPixels(int64_t bytes, int64_t pixels, PixelType type) {
  for (const auto& [width, name] : {std::pair(1, "uint8"), std::pair(2, "uint16"),
                                    std::pair(4, "float32"), std::pair(8, "float64")}) {
    if (bytes != width * pixels) continue;
    return absl::StrCat(
        "; pixels of ", width, " bytes, e.g. ", name, ", would have as many: pixel_type says ",
        type == PixelType::kUint16Counts ? "uint16 counts" : "float32 line integrals");
  }
  return "";
}

}  // namespace

absl::Status CheckFrameBytes(uint32_t frame, int64_t bytes, const Detector& detector,
                             PixelType type) {
  const int64_t pixels = int64_t{detector.rows} * detector.columns;
  if (bytes == pixels * PixelBytes(type)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("frame.pixels of frame ", frame, " has ", bytes, " bytes; legal is ",
                   pixels * PixelBytes(type), " (", detector.rows, " rows of ", detector.columns,
                   " columns of ", PixelBytes(type), " bytes)", OtherPixels(bytes, pixels, type)));
}

}  // namespace isocenter::recon
