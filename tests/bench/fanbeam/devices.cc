// One slice on several devices.
#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/shared_fan_beam.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/bench.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/fanbeam/scan.h"
#include "tests/bench/summary.h"

namespace isocenter::bench {
namespace {

using recon::FanBeamShare;

struct Measured {
  Summary seconds;
  std::vector<float> image;  // fractions of water
};

absl::StatusOr<Measured> Measure(recon::SharedFanBeam& slice, const std::vector<float>& lines,
                                 const FanBeamGeometry& geometry, const VolumeGrid& grid,
                                 int repeats) {
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    ISO_RETURN_IF_ERROR(slice.Upload({lines.data(), {geometry.views, 1, geometry.channels}}));
    const absl::Time begin = absl::Now();
    ISO_RETURN_IF_ERROR(slice.Run());
    if (i > 0) seconds.push_back(absl::ToDoubleSeconds(absl::Now() - begin));
  }
  Measured measured{.seconds = Summarize(seconds)};
  measured.image.resize(static_cast<size_t>(grid.voxels()));
  ISO_RETURN_IF_ERROR(slice.Download({measured.image.data(), grid.shape()}));
  for (float& value : measured.image) value = static_cast<float>(value / kFanBeamWater);
  return measured;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  }
  return largest;
}

absl::StatusOr<std::vector<std::unique_ptr<ops::Device>>> OpenAll(const std::string& backend,
                                                                  int count) {
  std::vector<std::unique_ptr<ops::Device>> devices;
  for (int i = 0; i < count; ++i) {
    ISO_ASSIGN_OR_RETURN(auto device,
                         AllMethods().OpenDevice(backend, {.threads = 0, .ordinal = i}));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

absl::Status RunFanBeamDevices(const FanBeamOptions& options,
                               const std::vector<FanBeamMethods>& methods) {
  ThreadPool pool(UsableCores());
  const FanBeamGeometry geometry = PaperGeometry(options.views, 1);
  const VolumeGrid grid = PaperGrid(options.size);
  const std::vector<float> lines = CleanScan(geometry, pool);
  FigureTable table({"form", "shared", "devices", "s", "range", "speed-up", "largest difference"});
  for (const FanBeamMethods& method : methods) {
    ISO_ASSIGN_OR_RETURN(const auto devices, OpenAll(method.backend, options.devices));
    std::vector<ops::Device*> all;
    for (const auto& device : devices) all.push_back(device.get());
    Measured alone;
    const auto add = [&](FanBeamShare share, const char* name, int count) -> absl::Status {
      ISO_ASSIGN_OR_RETURN(
          const auto slice,
          recon::SharedFanBeam::Create(geometry, grid, {.backproject_method = method.backproject},
                                       AllMethods(),
                                       std::span(all).first(static_cast<size_t>(count)), share));
      ISO_ASSIGN_OR_RETURN(Measured measured,
                           Measure(*slice, lines, geometry, grid, options.repeats));
      if (count == 1) alone = measured;
      table.Add({absl::StrCat(method.backend, " ", method.backproject), name, absl::StrCat(count),
                 absl::StrFormat("%.6f", measured.seconds.median),
                 absl::StrFormat("%.6f-%.6f", measured.seconds.least, measured.seconds.most),
                 absl::StrFormat("%.2f", alone.seconds.median / measured.seconds.median),
                 count == 1
                     ? "-"
                     : absl::StrFormat("%.1e", LargestDifference(measured.image, alone.image))});
      return absl::OkStatus();
    };
    ISO_RETURN_IF_ERROR(add(FanBeamShare::kRows, "-", 1));
    for (int count = 2; count <= options.devices; count *= 2) {
      ISO_RETURN_IF_ERROR(add(FanBeamShare::kRows, "rows", count));
      ISO_RETURN_IF_ERROR(add(FanBeamShare::kViews, "views", count));
    }
  }
  table.Print(
      "One slice on several devices, filter included, copies from and to the host excluded; "
      "differences to one device, as fractions of water");
  return table.Write(options.out, "devices");
}

}  // namespace isocenter::bench
