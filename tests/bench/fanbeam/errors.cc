#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "tests/bench/fanbeam/bench.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/fanbeam/noise_power.h"
#include "tests/bench/fanbeam/scan.h"

namespace isocenter::bench {
namespace {

struct Error {
  double rms = 0, largest = 0;
};

// Of pixels that every view sees, as fractions of water; the picture has the others, too.
Error ErrorOf(const std::vector<float>& image, const std::vector<float>& truth, int size,
              double radius_mm) {
  Error error;
  const VolumeGrid grid = PaperGrid(size);
  double sum = 0, count = 0;
  for (int j = 0; j < size; ++j) {
    for (int i = 0; i < size; ++i) {
      const Vec3 at = grid.VoxelToWorld(i, j, 0);
      if (std::hypot(at.x, at.y) > radius_mm) continue;
      const size_t pixel = static_cast<size_t>(j) * size + i;
      const double difference = double{image[pixel]} - truth[pixel];
      sum += difference * difference;
      ++count;
      error.largest = std::max(error.largest, std::abs(difference));
    }
  }
  error.rms = std::sqrt(sum / count);
  return error;
}

class Study {
 public:
  explicit Study(const FanBeamOptions& options)
      : options_(options),
        spec_{.geometry = PaperGeometry(options.views, 1)},
        pool_(UsableCores()),
        lines_(CleanScan(spec_.geometry, pool_)) {}

  absl::StatusOr<std::vector<float>> Image(const FanBeamMethods& method,
                                           ops::FanBeamKernelForm kernel) {
    ops::FanBeamFilterSpec spec = spec_;
    spec.form = kernel;
    ISO_ASSIGN_OR_RETURN(FanBeamForm form,
                         FanBeamForm::Create(method.backend, method.filter, method.backproject, 0,
                                             spec, PaperGrid(options_.size)));
    return form.Reconstruct(lines_);
  }

  absl::Status Compare(const FanBeamMethods& method, const std::vector<float>& truth,
                       const std::string& against, FigureTable& table) {
    ISO_ASSIGN_OR_RETURN(const std::vector<float> image,
                         Image(method, ops::FanBeamKernelForm::kExact));
    const Error error =
        ErrorOf(image, truth, options_.size, FanBeamFieldOfViewRadius(spec_.geometry));
    table.Add({absl::StrCat(method.backend, " ", method.backproject), against,
               absl::StrFormat("%.2e", error.rms), absl::StrFormat("%.2e", error.largest)});
    std::vector<float> difference(image.size());
    for (size_t i = 0; i < image.size(); ++i) difference[i] = image[i] - truth[i];
    return WritePicture(options_.out,
                        absl::StrCat("error_", method.backend, "_", method.backproject), difference,
                        options_.size, -4 * error.rms, 4 * error.rms);
  }

 private:
  const FanBeamOptions& options_;
  const ops::FanBeamFilterSpec spec_;
  ThreadPool pool_;
  const std::vector<float> lines_;
};

double MeanOf(const std::vector<float>& image, int size, int region) {
  double sum = 0;
  for (const double value : RegionOf(image, size, region)) sum += value;
  return sum / kRegionValues;
}

}  // namespace

absl::Status RunFanBeamErrors(const FanBeamOptions& options,
                              const std::vector<FanBeamMethods>& methods) {
  Study study(options);
  const FanBeamMethods cpu_double{"cpu", "double", "double"};
  ISO_ASSIGN_OR_RETURN(const std::vector<float> exact,
                       study.Image(cpu_double, ops::FanBeamKernelForm::kExact));
  FigureTable errors({"form", "against", "RMS", "largest"});
  for (const FanBeamMethods& method : methods) {
    if (method.backend == "cpu" && method.backproject == "double") continue;
    ISO_RETURN_IF_ERROR(study.Compare(method, exact, "cpu double", errors));
  }
  if (options.reference) {
    ISO_ASSIGN_OR_RETURN(const std::vector<float> reference,
                         study.Image({"reference", "", ""}, ops::FanBeamKernelForm::kExact));
    for (const FanBeamMethods& method : methods) {
      ISO_RETURN_IF_ERROR(study.Compare(method, reference, "reference", errors));
    }
  }
  errors.Print("Errors where all views see, as fractions of water");
  ISO_RETURN_IF_ERROR(errors.Write(options.out, "errors"));
  ISO_RETURN_IF_ERROR(WritePicture(options.out, "image", exact, options.size, 0.8, 1.2));

  ISO_ASSIGN_OR_RETURN(const std::vector<float> sampled,
                       study.Image(cpu_double, ops::FanBeamKernelForm::kSampledRamp));
  FigureTable filters({"region", "truth", "exact kernel", "sampled ramp"});
  constexpr const char* kTruth[kRegions] = {"1.955", "0.905", "1.12", "0", "1", "1", "1", "0", "0"};
  for (int region = 0; region < kRegions; ++region) {
    filters.Add({absl::StrCat(region + 1), kTruth[region],
                 absl::StrFormat("%.5f", MeanOf(exact, options.size, region)),
                 absl::StrFormat("%.5f", MeanOf(sampled, options.size, region))});
  }
  filters.Print("Means of regions by form of the filter, as fractions of water");
  return filters.Write(options.out, "filters");
}

}  // namespace isocenter::bench
