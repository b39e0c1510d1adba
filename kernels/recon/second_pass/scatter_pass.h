// Scatter, computed from a coarse volume that is made of the frames themselves.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/scatter_plan.h"
#include "kernels/scatter/object.h"

namespace isocenter::recon {

/// Where more of the detector's rows than this share end inside of the object, it is not known
/// whose scatter arrives.
inline constexpr double kMostCutRows = 0.02;
/// What the object's line integrals may miss of the frames', as a share.
inline constexpr double kMostUnexplained = 0.15;
/// The share of pixels of which no more than kLeastUnscattered would be left.
inline constexpr double kMostHeldPixels = 0.01;

/// What was found: for records, in the last round.
struct ScatterFindings {
  double most_ratio = 0;   // of scatter to primary, of a cell
  double mean_ratio = 0;   // of all cells behind the object
  double first_share = 0;  // of the scatter, what has scattered once
  double unexplained = 0;  // of the frames' line integrals, what the object's miss
  double held = 0;         // share of pixels that the bound holds
};
std::string ToText(const ScatterFindings& findings);

/// Bin, then kRounds times a coarse volume (ReconstructStep until it says that it is done)
/// and Estimate. Not thread-safe, but for Stop. Scatter makes a volume too thin, of which too
/// little scatter is computed: the second volume is of lines that have lost the first estimate.
class ScatterPass {
 public:
  static constexpr int kRounds = 5;

  /// What frames hold. Of the primary alone one round is all.
  enum class Frames { kWithScatter, kPrimary };

  /// `plan`, `registry` and `devices` must outlive it. `threads` that it may use beside them.
  ScatterPass(const ScatterPlan& plan, const ops::Registry& registry,
              std::span<ops::Device* const> devices, int threads,
              Frames frames = Frames::kWithScatter);

  /// Takes the lines of all views. Errors: FAILED_PRECONDITION (the object is cut).
  absl::Status Bin(LineStore& lines);
  /// The next chunk of the coarse volume; true when there is one.
  absl::StatusOr<bool> ReconstructStep();
  /// Follows photons through it. Errors: FAILED_PRECONDITION (the object does not explain the
  /// frames; more scatter than was measured), CANCELLED.
  absl::Status Estimate();
  /// Estimate gives up from any thread.
  void Stop() { stop_ = true; }

  /// Of the empty beam, [row][column]; after an estimate.
  std::vector<double> CellsAt(int view) const;
  const ScatterFindings& findings() const { return findings_; }

 private:
  int64_t FramePixels() const;
  /// Line integrals of water, less the scatter that has been found so far.
  void CorrectLines(int first_view, int views, std::span<float> corrected);
  absl::Status FollowAll(const scatter::Object& object, int64_t photons);
  absl::Status Judge(const scatter::Object& object);

  const ScatterPlan& plan_;
  const ops::Registry& registry_;
  const std::vector<ops::Device*> devices_;
  ThreadPool threads_;
  const Frames frames_;
  std::vector<float> lines_;                // binned: [view][v][u]
  std::vector<ProjectionMatrix> matrices_;  // of the frames as they are
  std::vector<float> chunk_;
  std::unique_ptr<Reconstructor> reconstructor_;
  std::vector<float> volume_;                // coarse, HU
  std::vector<std::vector<double>> images_;  // of the sampled views: scatter; empty: none yet
  int round_ = 0;
  ScatterFindings findings_;
  std::atomic<bool> stop_ = false;
};

}  // namespace isocenter::recon
