// What the light that gets through metal says of what lies in its shadow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/device.h"
#include "kernels/ops/hounsfield.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {

/// From this line integral on too little light has come to tell anything; it counts in full from
/// one less on.
inline constexpr double kDarkLine = 8;
/// Of the light through metal so much must come, or it is not asked: the edges of metal that is
/// dark tell less than they disturb.
inline constexpr double kLeastLight = 0.8;

/// Every voxel of metal (FindMetal) is 1, all else 0.
void MarkMetal(HostView3<const float> metal, HostView3<float> marked);
/// HU become attenuation in 1/mm where metal or a face of it is, and 0 elsewhere.
void KeepMetal(const VolumeGrid& grid, const ops::HounsfieldScale& scale,
               HostView3<const float> metal, HostView3<float> volume);

/// All line integrals a second time, beside those over which metal's trace has been interpolated
/// (q). First they are as measured (p); what metal adds to them, e = p - q, is hardened: a
/// polynomial of e and q that fits metal's paths best, in proportion, is what it would add to a
/// beam of one energy, G(e, q), and dark rays have metal's path. Those lines are reconstructed;
/// what voxels of metal have of them, projected, is what metal explains, and the rest is what
/// interpolation has missed. Not thread-safe.
class MetalLight {
 public:
  /// Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<MetalLight>> Create(const SecondPassPlan& plan,
                                                            ops::Device& device);
  /// Host memory for the plan.
  static int64_t Bytes(const Acquisition& acquisition);

  /// Of some views, [view][v][u].
  HostView3<float> Lines(int first_view, int views);
  /// Measured lines, before they are interpolated.
  void Keep(int first_view, HostView3<const float> measured);
  /// Interpolated lines and paths in metal, mm. Only rays that leave the grid nowhere above or
  /// below what it has around the axis are asked.
  void Ask(int first_view, std::span<const ProjectionMatrix> matrices,
           HostView3<const float> interpolated, HostView3<const float> paths);
  /// After all views were asked: whether there is enough light to go on.
  bool Fit();
  /// The lines become metal's.
  void MakeMetal(int first_view, HostView3<const float> interpolated, HostView3<const float> paths);
  /// The lines become the interpolated ones with what metal's do not explain. `explained`:
  /// projections of KeepMetal's volume.
  void AddRest(int first_view, HostView3<const float> interpolated,
               HostView3<const float> explained);

 private:
  static constexpr int kTerms = 5;
  using Terms = std::array<double, kTerms>;
  static Terms TermsOf(double e, double q) { return {e, e * e, e * e * e, e * q, e * e * q}; }

  explicit MetalLight(const SecondPassPlan& plan) : plan_(plan) {}
  uint8_t* Light(int first_view);

  const SecondPassPlan& plan_;
  std::unique_ptr<ops::HostMemory> lines_;
  std::unique_ptr<ops::HostMemory> light_;  // 0 to 255 for each ray; none outside of the trace
  // Normal equations of metal's paths over the terms.
  std::array<double, kTerms * kTerms> matrix_{};
  Terms right_{};
  double light_sum_ = 0, rays_ = 0;
  Terms coefficient_{};  // of G
  double per_mm_ = 0;    // attenuation of metal in G
};

}  // namespace isocenter::recon
