// One way to reconstruct a fan-beam slice: a filter and a back-projection of a backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/fan_beam.h"
#include "kernels/ops/fan_beam.h"
#include "tests/opened_session.h"

namespace isocenter::bench {

struct FanBeamSeconds {
  double filter = 0, backproject = 0;
  double total() const { return filter + backproject; }
};

class FanBeamForm {
 public:
  /// Methods by name. `threads` 0: one per core. Errors: those of what it makes.
  static absl::StatusOr<FanBeamForm> Create(const std::string& backend, const std::string& filter,
                                            const std::string& backproject, int threads,
                                            const ops::FanBeamFilterSpec& spec,
                                            const VolumeGrid& grid);
  std::string name() const { return backend_ + " " + backproject_; }
  const std::string& backend() const { return backend_; }
  const std::string& filter() const { return filter_; }
  const std::string& backproject() const { return backproject_; }
  std::string device() const { return session_.device->description(); }

  /// The image of a scan, 1/mm, as fractions of water. With `seconds`, how long the two steps took,
  /// copies excluded.
  absl::StatusOr<std::vector<float>> Reconstruct(const std::vector<float>& lines,
                                                 FanBeamSeconds* seconds = nullptr);

 private:
  std::string backend_, filter_, backproject_;
  FanBeamGeometry geometry_;
  OpenedSession session_;
  std::unique_ptr<ops::ProjectionStack> stack_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::FanBeamFilter> filter_operation_;
  std::unique_ptr<ops::FanBeamBackproject> backproject_operation_;
};

/// The methods of a backend, by name; each back-projection with the filter of its precision.
struct FanBeamMethods {
  std::string backend, filter, backproject;
};
/// Those of `wanted`, or all, of `backends`, or of all that have a device on this machine but
/// reference. Errors: those of opening a device that was asked for; NOT_FOUND (none is wanted).
absl::StatusOr<std::vector<FanBeamMethods>> FanBeamMethodsOf(
    std::vector<std::string> backends, const std::vector<std::string>& wanted);

}  // namespace isocenter::bench
