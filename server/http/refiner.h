// What the web interface asks of whoever knows the recipes of refinements.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/jobs/job_table.h"

namespace isocenter::http {

/// A protocol that refines.
struct RefinementOffer {
  std::string protocol, description;
  std::string algorithm;                             // "os_sart"; empty: a second pass
  std::optional<jobs::SecondPassFacts> second_pass;  // what one is against
  int iterations = 0;                                // 0: a second pass
  int subsets = 0;                                   // of each iteration; 0: not said
  double deadline_seconds = 0;                       // 0: none
};

/// What somebody wants to have refined.
struct RefinementWish {
  std::string job_id, protocol;
  /// Of a volume of one phase, as v1::PhaseWindow; then `protocol` may be empty.
  std::optional<double> phase;
  double phase_width = 0;       // 0: as the service chooses
  double deadline_seconds = 0;  // 0: that of the protocol
  std::string request_id;       // empty: none; see v1::RefineJobRequest
};

/// Thread-safe.
class Refiner {
 public:
  virtual ~Refiner() = default;
  /// By name.
  virtual std::vector<RefinementOffer> Offers() const = 0;
  using Done = std::function<void(absl::StatusOr<jobs::JobSnapshot>)>;
  /// As v1::JobService::RefineJob; `done` may be called from another thread, and later.
  virtual void Refine(const RefinementWish& wish, Done done) = 0;
};

}  // namespace isocenter::http
