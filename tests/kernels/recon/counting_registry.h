// The methods of a registry as operations that compute nothing and count what the methods state
// that they take; for CountingDevice.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "kernels/ops/registry.h"
#include "tests/kernels/recon/counting_device.h"

namespace isocenter::recon {

/// What one operation takes for itself, for the largest arguments that it has seen.
class Workspace {
 public:
  using Bytes = std::function<int64_t(const ops::Extents&)>;
  Workspace(ops::Session& session, Bytes bytes)
      : counted_(dynamic_cast<CountingDevice&>(session.device()).counted()),
        bytes_(std::move(bytes)) {}
  /// For arguments with the room that these have.
  absl::Status Grow(const ops::Vector& one) { return GrowTo(With(one, {})); }
  absl::Status Grow(const ops::ProjectionStack& stack, const ops::VolumeBuffer& volume) {
    return GrowTo(With(volume, With(stack, {})));
  }

 private:
  static ops::Extents With(const ops::Vector& one, ops::Extents extents) {
    if (const auto* stack = dynamic_cast<const CountingStack*>(&one)) {
      extents.stack = stack->capacity();
    } else {
      extents.grid = dynamic_cast<const CountingVolume&>(one).capacity();
    }
    return extents;
  }
  absl::Status GrowTo(const ops::Extents& extents) {
    const int64_t bytes = bytes_(extents);
    counted_.workspace += std::max<int64_t>(bytes - taken_, 0);
    taken_ = std::max(taken_, bytes);
    return absl::OkStatus();
  }

  Counted& counted_;
  const Bytes bytes_;
  int64_t taken_ = 0;
};

class CountingPreprocess final : public ops::Preprocess, Workspace {
 public:
  using Workspace::Workspace;
  absl::Status DoRun(const ops::RawFrames&, const ops::CountRange&,
                     std::span<const ops::ViewWeights>, int64_t,
                     ops::ProjectionStack& out) override {
    return Grow(out);
  }
  absl::Status DoWeigh(const ops::ProjectionStack&, int64_t, RowRange,
                       std::span<const ops::ViewWeights>, int64_t,
                       ops::ProjectionStack& out) override {
    return Grow(out);
  }
};

class CountingRampFilter final : public ops::RampFilter, Workspace {
 public:
  CountingRampFilter(ops::Session& session, Bytes bytes, const ops::RampFilterSpec& spec)
      : RampFilter(spec), Workspace(session, std::move(bytes)) {}
  absl::Status DoRun(int, const ops::ProjectionStack&, ops::ProjectionStack& filtered) override {
    return Grow(filtered);
  }
};

class CountingBackproject final : public ops::Backproject, Workspace {
 public:
  using Workspace::Workspace;
  absl::Status DoRun(std::span<const ProjectionMatrix>, const ops::ProjectionStack& filtered,
                     ops::VolumeBuffer& volume) override {
    return Grow(filtered, volume);
  }
};

class CountingToHounsfield final : public ops::ToHounsfield, Workspace {
 public:
  using Workspace::Workspace;
  absl::Status DoRun(const ops::HounsfieldScale&, ops::VolumeBuffer& volume) override {
    return Grow(volume);
  }
};

class CountingForwardProject final : public ops::ForwardProject, Workspace {
 public:
  using Workspace::Workspace;
  absl::Status DoRun(std::span<const ProjectionMatrix>, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    return Grow(projections, volume);
  }
};

class CountingMatchedBackproject final : public ops::MatchedBackproject, Workspace {
 public:
  using Workspace::Workspace;
  absl::Status DoRun(std::span<const ProjectionMatrix>, const ops::ProjectionStack& projections,
                     ops::VolumeBuffer& volume) override {
    return Grow(projections, volume);
  }
};

class CountingArithmetic final : public ops::Arithmetic, Workspace {
 public:
  using Workspace::Workspace;
  absl::Status DoFill(double, ops::Vector& y) override { return Grow(y); }
  absl::Status DoCopy(const ops::Vector&, ops::Vector& y) override { return Grow(y); }
  absl::Status DoAxpby(double, const ops::Vector&, double, ops::Vector& y) override {
    return Grow(y);
  }
  absl::Status DoMultiply(const ops::Vector&, ops::Vector& y) override { return Grow(y); }
  absl::Status DoMultiplyAdd(double, const ops::Vector&, const ops::Vector&,
                             ops::Vector& y) override {
    return Grow(y);
  }
  absl::Status DoMultiplyAddAbove(double, double, const ops::Vector&, const ops::Vector&,
                                  ops::Vector& y) override {
    return Grow(y);
  }
  absl::Status DoInvert(double, ops::Vector& y) override { return Grow(y); }
  absl::Status DoExponential(double, ops::Vector& y) override { return Grow(y); }
  absl::Status DoClampBelow(double, ops::Vector& y) override { return Grow(y); }
  absl::Status DoBend(const ops::HounsfieldHinges&, ops::Vector& y) override { return Grow(y); }
  absl::StatusOr<double> DoDot(const ops::Vector&, const ops::Vector& y) override { return One(y); }
  absl::StatusOr<double> DoDotOfRows(const ops::ProjectionStack&, const ops::ProjectionStack& y,
                                     RowRange) override {
    return One(y);
  }
  absl::Status DoAddRows(const ops::ProjectionStack&, RowRange, int,
                         ops::ProjectionStack& to) override {
    return Grow(to);
  }
  absl::Status DoCopySlices(const ops::VolumeBuffer&, int, int, ops::VolumeBuffer& to,
                            int) override {
    return Grow(to);
  }

 private:
  absl::StatusOr<double> One(const ops::Vector& y) {
    (void)Grow(y);
    return 1.0;
  }
};

class CountingVariation final : public ops::Variation, Workspace {
 public:
  using Workspace::Workspace;
  absl::Status DoAddTotalVariationGradient(double, double, const ops::VolumeBuffer&,
                                           const ops::NeighborSlices&,
                                           ops::VolumeBuffer& gradient) override {
    return Grow(gradient);
  }
  absl::StatusOr<double> DoTotalVariation(double, const ops::VolumeBuffer& f,
                                          const ops::NeighborSlices&) override {
    (void)Grow(f);
    return 1.0;
  }
  absl::Status DoAddHuberGradient(double, double, const ops::VolumeBuffer&,
                                  const ops::NeighborSlices&,
                                  ops::VolumeBuffer& gradient) override {
    return Grow(gradient);
  }
  absl::StatusOr<double> DoHuber(double, const ops::VolumeBuffer& f,
                                 const ops::NeighborSlices&) override {
    (void)Grow(f);
    return 1.0;
  }
  absl::Status DoAscendDual(double, double, const ops::VolumeBuffer& f, const ops::NeighborSlices&,
                            const ops::VectorField<ops::VolumeBuffer>&) override {
    return Grow(f);
  }
  absl::Status DoAddDivergence(double, const ops::VectorField<const ops::VolumeBuffer>&,
                               const ops::VolumeBuffer*, ops::VolumeBuffer& f) override {
    return Grow(f);
  }
};

/// `more` is added to what each method states, so that those count that state nothing.
template <class Counting, class Operation, class... Spec>
void AddCounting(const ops::MethodTable<ops::Factory<Operation, Spec...>>& from, int64_t more,
                 ops::MethodTable<ops::Factory<Operation, Spec...>>& to) {
  for (const auto& entry : from.List()) {
    const auto bytes = [factory = entry.factory, more](const ops::Device& device,
                                                       const ops::Extents& extents,
                                                       const Spec&... spec) {
      return more + factory.WorkspaceBytes(device, extents, spec...);
    };
    const auto create = [bytes](ops::Session& session,
                                const Spec&... spec) -> absl::StatusOr<std::unique_ptr<Operation>> {
      return std::make_unique<Counting>(
          session,
          [&device = session.device(), bytes, spec...](const ops::Extents& extents) {
            return bytes(device, extents, spec...);
          },
          spec...);
    };
    to.Add(entry.backend, entry.method, {create, bytes}, entry.precision, entry.order);
  }
}

/// Devices are not registered: tests make them.
inline ops::Registry CountingRegistry(const ops::Registry& of, int64_t more) {
  ops::Registry registry;
  AddCounting<CountingPreprocess>(of.preprocess, more, registry.preprocess);
  AddCounting<CountingRampFilter>(of.ramp_filter, more, registry.ramp_filter);
  AddCounting<CountingBackproject>(of.backproject, more, registry.backproject);
  AddCounting<CountingToHounsfield>(of.to_hounsfield, more, registry.to_hounsfield);
  AddCounting<CountingArithmetic>(of.arithmetic, more, registry.arithmetic);
  AddCounting<CountingVariation>(of.variation, more, registry.variation);
  for (const auto& [model, methods] : of.projectors) {
    AddCounting<CountingForwardProject>(methods.forward, more, registry.projectors[model].forward);
    AddCounting<CountingMatchedBackproject>(methods.back, more, registry.projectors[model].back);
  }
  return registry;
}

}  // namespace isocenter::recon
