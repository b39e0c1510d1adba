#include "kernels/quality/detectability.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::quality {
namespace {

constexpr int kSteps = 2000;

absl::Status CheckRange(const char* what, double value, double least, double most,
                        const char* unit) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("the task's %s is %g %s; legal is %g to %g", what, value, unit, least, most));
}

absl::Status Check(const DetectionTask& task, const FrequencyCurve& transfer,
                   const FrequencyCurve& noise) {
  ISO_RETURN_IF_ERROR(CheckRange("contrast", task.contrast, 0.1, 5000, "HU"));
  ISO_RETURN_IF_ERROR(CheckRange("size", task.size_mm, 0.1, 100, "mm"));
  ISO_RETURN_IF_ERROR(CheckRange("viewing distance", task.viewing_mm, 100, 5000, "mm"));
  ISO_RETURN_IF_ERROR(CheckRange("magnification", task.magnification, 0.1, 100, "mm per mm"));
  for (const FrequencyCurve* curve : {&transfer, &noise}) {
    if (curve->values.size() >= 2 && curve->values.size() == curve->frequencies.size()) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("a curve has %d values at %d frequencies; legal are 2 or more",
                        curve->values.size(), curve->frequencies.size()));
  }
  for (size_t i = 0; i < noise.values.size(); ++i) {
    if (noise.values[i] > 0 && std::isfinite(noise.values[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("noise power at %g/mm is %g HU² mm²; legal is more than 0",
                        noise.frequencies[i], noise.values[i]));
  }
  return absl::OkStatus();
}

// The task's two-dimensional transform, HU mm².
double TaskTransform(const DetectionTask& task, double f) {
  if (task.profile == DetectionTask::Profile::kGaussian) {
    const double square = task.size_mm * task.size_mm;
    return task.contrast * 2 * kPi * square * std::exp(-2 * kPi * kPi * square * f * f);
  }
  const double radius = task.size_mm / 2, x = 2 * kPi * radius * f;
  const double shape = x < 1e-9 ? 1 : 2 * std::cyl_bessel_j(1.0, x) / x;
  return task.contrast * kPi * radius * radius * shape;
}

}  // namespace

double EyeFilter(double cycles_per_degree) {
  const double root =
      std::pow(cycles_per_degree, 1.5) * std::exp(-0.98 * std::pow(cycles_per_degree, 0.68));
  return root * root;
}

absl::StatusOr<Detectability> MeasureDetectability(const DetectionTask& task,
                                                   const FrequencyCurve& transfer,
                                                   const FrequencyCurve& noise) {
  ISO_RETURN_IF_ERROR(Check(task, transfer, noise));
  const double end = std::min(transfer.frequencies.back(), noise.frequencies.back());
  // Cycles per mm of the patient to cycles per degree at the eye.
  const double per_degree = task.viewing_mm * DegreesToRadians(1) / task.magnification;
  double ideal = 0, signal = 0, noisy = 0, eye_signal = 0, eye_noisy = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double f = end * (i + 0.5) / kSteps;
    const double area = 2 * kPi * f * end / kSteps;
    const double seen = TaskTransform(task, f) * transfer.At(f);
    const double power = noise.At(f), square = seen * seen * area;
    const double eye = EyeFilter(f * per_degree), eye_square = eye * eye;
    ideal += square / power;
    signal += square;
    noisy += square * power;
    eye_signal += square * eye_square;
    eye_noisy += square * eye_square * eye_square * power;
  }
  return Detectability{std::sqrt(ideal), signal / std::sqrt(noisy),
                       eye_signal / std::sqrt(eye_noisy)};
}

}  // namespace isocenter::quality
