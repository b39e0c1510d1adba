// Frames as they come -> line integrals in host memory, which a refinement corrects.
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/refinement_basis.h"

namespace isocenter::recon {

/// Converts frames on one device. Not thread-safe.
class LineStore {
 public:
  /// `stored`: the plan's acquisition with what is corrected of its frames; null: no line integrals
  /// are needed, and only what matrices the frames have is kept. `plan` and `device` must outlive
  /// it. Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<LineStore>> Create(const RefinementBasis& plan,
                                                           const Acquisition* stored,
                                                           const ops::Registry& registry,
                                                           ops::Device& device);
  int views() const { return next_view_; }
  /// The next frames; as Refinement::Push.
  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                    std::span<const float> doses);
  /// Errors: FAILED_PRECONDITION (frames are missing).
  absl::Status CheckAllPushed() const;
  /// Gives the device's memory back; no more frames.
  void Close();

  /// Of some views, [view][v][u].
  HostView3<float> Lines(int first_view, int views);
  /// Planned matrices or measured ones.
  std::span<const ProjectionMatrix> Matrices(int first_view, int views) const {
    return std::span(matrices_).subspan(first_view, views);
  }

 private:
  explicit LineStore(const RefinementBasis& plan)
      : plan_(plan), matrices_(plan.acquisition.trajectory) {}
  absl::Status Check(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                     std::span<const float> doses) const;

  const RefinementBasis& plan_;
  Trajectory matrices_;
  std::unique_ptr<ops::HostMemory> lines_;
  int next_view_ = 0;
  bool closed_ = false;
  // Until Close:
  std::unique_ptr<ops::Session> session_;
  std::unique_ptr<LineConverter> converter_;
};

}  // namespace isocenter::recon
