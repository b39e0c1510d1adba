// A detector with its faults reads frames out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/detector_model.h"

namespace isocenter::physics {

/// Frames in the order of a sweep; the first finds a detector that was dark. What happens to a
/// pixel, in this order: quantum noise, glare, gain, lag, offset, electronic noise, defect,
/// saturation and rounding to 16 bits. The counts depend on the model alone: the same on every
/// machine and for any number of threads.
class Readout {
 public:
  /// Memory: 8 bytes for each pixel and term of lag, and 33 more for each pixel. Errors:
  /// INVALID_ARGUMENT (ValidateDetectorModel).
  static absl::StatusOr<Readout> Make(const DetectorModel& model, const Detector& detector);

  const DetectorMaps& maps() const { return maps_; }

  /// Exposes one frame with `dose` (FrameDoses; 0: a dark one) behind what gives `readings`, and
  /// reads it out. Both spans are [v][u].
  void Expose(std::span<const Reading> readings, double dose, ThreadPool& pool,
              std::span<uint16_t> counts);

 private:
  Readout(const DetectorModel& model, const Detector& detector)
      : model_(model),
        detector_(detector),
        maps_(MakeDetectorMaps(model, detector)),
        light_(maps_.gain.size()),
        kept_(maps_.gain.size() * model.lag.size()) {}

  double AfterLag(size_t pixel, double signal);
  double Fault(PixelState state, size_t pixel, double value) const;

  DetectorModel model_;
  Detector detector_;
  DetectorMaps maps_;
  std::vector<double> light_;  // of the present frame, relative to an unattenuated pixel's
  std::vector<double> kept_;   // [pixel][term] of lag, counts
  uint64_t frame_ = 0;
};

}  // namespace isocenter::physics
