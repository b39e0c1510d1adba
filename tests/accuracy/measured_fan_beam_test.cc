// Measured fan-beam scans by every method of every backend with a device, against what the
// organizers of the challenge reconstructed from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/recon/fan_beam.h"
#include "tests/accuracy/htc2022.h"
#include "tests/all_methods.h"

namespace isocenter {
namespace {

constexpr double kMu = 0.02;  // any: HU are scaled back

// Attenuation, 1/mm.
std::vector<float> Reconstruct(ops::Device& device, const std::string& method,
                               ops::FanBeamKernelForm form, const std::vector<float>& lines) {
  std::vector<float> image(htc2022::Grid().voxels());
  const absl::Status status = recon::ReconstructFanBeam(
      htc2022::Geometry(), htc2022::Grid(),
      {.form = form, .mu_water_per_mm = kMu, .backproject_method = method}, AllMethods(), device,
      [&](int64_t, HostView3<float> into) {
        std::copy(lines.begin(), lines.end(), into.data());
        return absl::OkStatus();
      },
      {image.data(), htc2022::Grid().shape()});
  EXPECT_TRUE(status.ok()) << method << " " << status;
  for (float& value : image) value = static_cast<float>((1 + value / 1000.0) * kMu);
  return image;
}

struct Likeness {
  double correlation, scale, rms_per_mm;  // scale: of ours that fits theirs, least squares
};

Likeness Compare(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double a = 0, b = 0, aa = 0, bb = 0, ab = 0, difference = 0;
  const auto n = static_cast<double>(ours.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    const double x = ours[i], y = theirs[i];
    a += x;
    b += y;
    aa += x * x;
    bb += y * y;
    ab += x * y;
    difference += (x - y) * (x - y);
  }
  return {(ab - a * b / n) / std::sqrt((aa - a * a / n) * (bb - b * b / n)), ab / bb,
          std::sqrt(difference / n)};
}

class MeasuredFanBeam : public testing::TestWithParam<std::string> {
 protected:
  Likeness Of(ops::Device& device, const std::string& method, ops::FanBeamKernelForm form,
              const std::vector<float>& lines) {
    const Likeness found =
        Compare(Reconstruct(device, method, form, lines), htc2022::TheirReconstruction(GetParam()));
    std::printf("%-11s %-9s %-24s %-13s correlation %.5f scale %.4f rms %.2e /mm\n",
                GetParam().c_str(), std::string(device.backend()).c_str(), method.c_str(),
                form == ops::FanBeamKernelForm::kExact ? "exact" : "sampled ramp",
                found.correlation, found.scale, found.rms_per_mm);
    return found;
  }
};

TEST_P(MeasuredFanBeam, IsWhatTheOrganizersReconstructed) {
  const std::vector<float> lines = htc2022::LineIntegrals(GetParam());
  if (lines.empty()) GTEST_SKIP() << "no measured scans in " << htc2022::Directory();
  for (const char* const backend : {"cpu", "cuda", "gles"}) {
    const auto device = AllMethods().OpenDevice(backend, {});
    if (!device.ok()) continue;
    for (const auto& entry : AllMethods().fan_beam_backproject.List()) {
      if (entry.backend != backend) continue;
      const Likeness exact = Of(**device, entry.method, ops::FanBeamKernelForm::kExact, lines);
      EXPECT_GT(exact.correlation, 0.9999) << backend << " " << entry.method;
      EXPECT_NEAR(exact.scale, 1, 0.001) << backend << " " << entry.method;
    }
  }
  // What the published form of the filter loses.
  const auto cpu = AllMethods().OpenDevice("cpu", {});
  ASSERT_TRUE(cpu.ok());
  EXPECT_LT(Of(**cpu, "", ops::FanBeamKernelForm::kSampledRamp, lines).scale, 0.99);
}

INSTANTIATE_TEST_SUITE_P(Scans, MeasuredFanBeam, testing::Values("solid_disc", "ta"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isocenter
