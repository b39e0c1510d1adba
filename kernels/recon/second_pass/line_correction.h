// Corrects line integrals by what volumes say of their rays.
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {

/// Some views: their matrices, and their line integrals [view][v][u], which are changed.
struct LineChunk {
  std::span<const ProjectionMatrix> matrices;
  HostView3<float> lines;
};

/// A session of one device with what it takes to project volumes of the plan's grid in host memory.
/// Not thread-safe.
class LineCorrection {
 public:
  /// `plan` and `device` must outlive it. Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
  static absl::StatusOr<std::unique_ptr<LineCorrection>> Create(const SecondPassPlan& plan,
                                                                const ops::Registry& registry,
                                                                ops::Device& device);
  /// The chunk's lines become those of `volume`.
  absl::Status Project(HostView3<const float> volume, const LineChunk& chunk);
  /// ops::InterpolateTrace, of `metal` in HU (FindMetal) and `prior` in 1/mm, or without.
  absl::Status TakeMetalOut(HostView3<const float> metal, HostView3<const float> prior,
                            const LineChunk& chunk);
  /// ops::CorrectBone, of fractions (MakeBone). Only with a plan that asks for bone.
  absl::Status CorrectBone(HostView3<const float> bone, const LineChunk& chunk);

  ops::Timeline& timeline() { return session_->timeline(); }

 private:
  explicit LineCorrection(const SecondPassPlan& plan) : plan_(plan) {}
  absl::Status Reshape(const LineChunk& chunk);
  absl::Status ProjectTo(HostView3<const float> volume, const LineChunk& chunk,
                         ops::ProjectionStack& lines);

  const SecondPassPlan& plan_;
  std::unique_ptr<ops::Session> session_;  // before all that lives in it
  std::unique_ptr<ops::VolumeBuffer> volume_;
  const float* uploaded_ = nullptr;  // what volume_ has, where it has a whole volume
  std::unique_ptr<ops::ProjectionStack> projections_, first_, second_, frames_;
  std::unique_ptr<ops::ForwardProject> project_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;
  std::unique_ptr<ops::InterpolateTrace> trace_;
  std::unique_ptr<ops::CorrectBone> bone_;  // null: not asked for
};

}  // namespace isocenter::recon
