// The port through which jobs get what was measured of their detectors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/geometry/detector.h"
#include "server/jobs/job.h"

namespace isocenter::ops {
struct Calibration;
}

namespace isocenter::jobs {

/// Whether a protocol has frames of counts corrected with a calibration.
enum class CalibrationPolicy {
  kNone,
  kWarn,            // where none fits, or it is not valid now
  kRequire,         // one that fits and is valid now
  kRequireVerified  // and that water has been made of water with
};

/// A set of calibrations, without what corrects.
struct CalibrationLabel {
  std::string name, station_name, detector_mode;
  Detector detector;
  double tube_voltage_kv = 0;  // 0: any
  absl::Time valid_from, valid_until;
  absl::Time created;                  // where that is not told, valid_from
  std::optional<absl::Time> verified;  // when; unset: never
  bool withdrawn = false;
  std::vector<std::string> parts;  // that it has, as fields of the contract's CalibrationSet
  bool has_bone = false;           // a bone table
  bool has_scatter_model = false;  // and what it needs of the beam
  int geometry_frames = 0;         // matrices; a set that has any corrects nothing
  uint32_t crc32c = 0;
  int64_t bytes = 0;  // of memory that it takes
};

/// Sets that are kept, each for good. Thread-safe.
class CalibrationStore {
 public:
  virtual ~CalibrationStore() = default;
  /// All of them.
  virtual std::vector<CalibrationLabel> Labels() const = 0;
  /// One of these, legal in all. Takes twice its bytes of memory for a while. Errors: NOT_FOUND,
  /// DATA_LOSS (it is damaged, and from now on not among the others), INTERNAL.
  virtual absl::StatusOr<std::shared_ptr<const ops::Calibration>> Load(
      const UsedCalibration& used) = 0;
};

}  // namespace isocenter::jobs
