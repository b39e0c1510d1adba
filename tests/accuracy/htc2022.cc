#include "tests/accuracy/htc2022.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "kernels/base/units.h"

namespace isocenter::htc2022 {
namespace {

// The first `count` float32 of an array of NumPy whose shape is written so.
std::vector<float> Read(const std::string& name, const std::string& shape, int64_t count) {
  std::ifstream file(Directory() + "/" + name, std::ios::binary);
  if (!file) return {};
  char start[10];
  file.read(start, sizeof start);
  std::string header(
      static_cast<unsigned char>(start[8]) + 256 * static_cast<unsigned char>(start[9]), ' ');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  EXPECT_NE(header.find("'<f4'"), std::string::npos) << header;
  EXPECT_NE(header.find(shape), std::string::npos) << header;
  std::vector<float> values(count);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  EXPECT_TRUE(file.good());
  return values;
}

}  // namespace

FanBeamGeometry Geometry() {
  return {.detector = FanBeamGeometry::Detector::kFlat,
          .source_to_axis_mm = 410.66,
          .source_to_detector_mm = 553.74,
          .channels = kChannels,
          .channel_pitch_mm = 0.2,
          .central_channel = (kChannels - 1) / 2.0,
          .views = kViews,
          .arc = -2 * kPi};
}

VolumeGrid Grid() { return CenteredGrid(kPixels, kPixels, 1, {kPixelMm, kPixelMm, 1}); }

std::string Directory() {
  const char* named = std::getenv("ISOCENTER_HTC2022");
  return named != nullptr ? named : "../shared/data/htc2022";
}

std::vector<float> LineIntegrals(const std::string& scan) {
  return Read(scan + "_sino.npy", "(721, 560)", int64_t{kViews} * kChannels);
}

std::vector<float> TheirReconstruction(const std::string& scan) {
  std::vector<float> values = Read(scan + "_ref_fbp.npy", "(512, 512)", int64_t{kPixels} * kPixels);
  for (float& value : values) value = static_cast<float>(value / kPixelMm);  // theirs is per pixel
  return values;
}

}  // namespace isocenter::htc2022
