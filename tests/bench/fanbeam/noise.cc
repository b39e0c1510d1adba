#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "tests/bench/fanbeam/bench.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/fanbeam/noise_power.h"
#include "tests/bench/fanbeam/scan.h"

namespace isocenter::bench {
namespace {

/// Mean and standard error of values that come one by one.
class Average {
 public:
  void Add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  double mean() const { return sum_ / count_; }
  double error() const {
    if (count_ < 2) return 0;
    const double variance = (squares_ - sum_ * mean()) / (count_ - 1);
    return std::sqrt(std::max(0.0, variance) / count_);
  }
  std::string Text() const { return absl::StrFormat("%.3f +- %.3f", mean(), error()); }

 private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

constexpr double kUnit = 1e5;  // variances are printed in 1e-5

// What many scans say of one form.
struct Noise {
  std::array<Average, kRegions> variance;
  std::vector<Average> power = std::vector<Average>(kRegionValues);  // of region 1
  std::vector<Average> radial = std::vector<Average>(kRegionPixels / 2 + 1);

  void Add(const std::vector<float>& image, int size) {
    for (int region = 0; region < kRegions; ++region) {
      variance[region].Add(kUnit * RegionVariance(RegionOf(image, size, region)));
    }
    const std::vector<double> nps = NoisePower(RegionOf(image, size, 0));
    for (int i = 0; i < kRegionValues; ++i) power[i].Add(nps[i]);
    const std::vector<double> rings = RadialNoisePower(nps);
    for (size_t i = 0; i < rings.size(); ++i) radial[i].Add(rings[i]);
  }
  double Highest() const {
    std::vector<double> means;
    for (const Average& ring : radial) means.push_back(ring.mean());
    return HighestFrequency(means);
  }
};

absl::StatusOr<std::vector<Noise>> Collect(const FanBeamOptions& options,
                                           const FanBeamGeometry& geometry,
                                           const std::vector<FanBeamMethods>& methods) {
  ThreadPool pool(UsableCores());
  const std::vector<float> clean = CleanScan(geometry, pool);
  std::vector<FanBeamForm> forms;
  for (const FanBeamMethods& method : methods) {
    ISO_ASSIGN_OR_RETURN(FanBeamForm form,
                         FanBeamForm::Create(method.backend, method.filter, method.backproject, 0,
                                             {.geometry = geometry}, PaperGrid(options.size)));
    forms.push_back(std::move(form));
  }
  std::vector<Noise> noise(forms.size());
  for (int i = 0; i < options.realizations; ++i) {
    const std::vector<float> scan =
        NoisyScan(clean, geometry, options.photons, options.seed + i, pool);
    for (size_t form = 0; form < forms.size(); ++form) {
      ISO_ASSIGN_OR_RETURN(const std::vector<float> image, forms[form].Reconstruct(scan));
      noise[form].Add(image, options.size);
    }
  }
  return noise;
}

absl::Status WriteVariances(const FanBeamOptions& options,
                            const std::vector<FanBeamMethods>& methods,
                            const std::vector<Noise>& noise) {
  std::vector<std::string> columns = {"region"};
  for (const FanBeamMethods& method : methods) {
    columns.push_back(absl::StrCat(method.backend, " ", method.backproject));
  }
  FigureTable table(columns);
  for (int region = 0; region < kRegions; ++region) {
    std::vector<std::string> row = {absl::StrCat(region + 1)};
    for (const Noise& form : noise) row.push_back(form.variance[region].Text());
    table.Add(row);
  }
  table.Print(absl::StrCat("Variance in 1e-5 of water squared, ", options.realizations,
                           " scans of ", options.photons, " photons, mean +- standard error"));
  return table.Write(options.out, "variance");
}

absl::Status WritePower(const FanBeamOptions& options, const Noise& noise) {
  FigureTable plane({"k", "l", "NPS", "standard error"});
  std::vector<float> picture(kRegionValues);
  double largest = 0;
  for (int l = 0; l < kRegionPixels; ++l) {
    for (int k = 0; k < kRegionPixels; ++k) {
      const Average& value = noise.power[l * kRegionPixels + k];
      plane.Add({absl::StrCat(k), absl::StrCat(l), absl::StrFormat("%.4e", value.mean()),
                 absl::StrFormat("%.1e", value.error())});
      // Frequency 0 in the middle.
      const int half = kRegionPixels / 2;
      const int x = (k + half) % kRegionPixels, y = (l + half) % kRegionPixels;
      picture[y * kRegionPixels + x] = static_cast<float>(value.mean());
      largest = std::max(largest, value.mean());
    }
  }
  ISO_RETURN_IF_ERROR(plane.Write(options.out, "nps"));
  ISO_RETURN_IF_ERROR(WritePicture(options.out, "nps", picture, kRegionPixels, 0, largest));
  FigureTable radial({"frequency 1/32 px", "NPS", "standard error"});
  std::vector<imaging::CurvePoint> points;
  for (size_t ring = 0; ring < noise.radial.size(); ++ring) {
    const Average& value = noise.radial[ring];
    radial.Add({absl::StrCat(ring), absl::StrFormat("%.4e", value.mean()),
                absl::StrFormat("%.1e", value.error())});
    points.push_back({static_cast<double>(ring), value.mean()});
  }
  radial.Print("Radial noise power of region 1");
  ISO_RETURN_IF_ERROR(radial.Write(options.out, "nps_radial"));
  return WriteCurve(options.out, "nps_radial",
                    {.title = "NPS of region 1", .x_label = "frequency, 1/32 per pixel"}, points);
}

// Does the distance of the channels set the highest frequency of the noise?
absl::Status RunSpacings(const FanBeamOptions& options, const FanBeamMethods& method) {
  FigureTable table({"spacing", "channel mm", "channels' Nyquist 1/32 px", "highest 1/32 px",
                     "highest / Nyquist", "variance of region 6"});
  const double pixel = kFanBeamImageMm / options.size;
  for (const double spacing : options.spacings) {
    const FanBeamGeometry geometry = PaperGeometry(options.views, spacing);
    ISO_ASSIGN_OR_RETURN(const std::vector<Noise> noise, Collect(options, geometry, {method}));
    const double channel = geometry.ChannelAtAxisMm();
    const double nyquist = kRegionPixels * pixel / (2 * channel), highest = noise[0].Highest();
    table.Add({absl::StrFormat("%g", spacing), absl::StrFormat("%.3f", channel),
               absl::StrFormat("%.2f", nyquist), absl::StrFormat("%.2f", highest),
               absl::StrFormat("%.3f", highest / nyquist), noise[0].variance[5].Text()});
  }
  table.Print(
      "Noise over channels' distances: highest is where the radial NPS falls below a tenth of its "
      "peak");
  return table.Write(options.out, "spacings");
}

}  // namespace

absl::Status RunFanBeamNoise(const FanBeamOptions& options,
                             const std::vector<FanBeamMethods>& methods) {
  ISO_ASSIGN_OR_RETURN(const std::vector<Noise> noise,
                       Collect(options, PaperGeometry(options.views, 1), methods));
  ISO_RETURN_IF_ERROR(WriteVariances(options, methods, noise));
  ISO_RETURN_IF_ERROR(WritePower(options, noise.front()));
  return RunSpacings(options, methods.front());
}

}  // namespace isocenter::bench
