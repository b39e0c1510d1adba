// Which backends and methods exist. A method is one file and one registration line in its backend's
// register.cc; tests, benchmarks and recipes find it here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/corrections.h"
#include "kernels/ops/device.h"
#include "kernels/ops/fan_beam.h"
#include "kernels/ops/matrix_gradient.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/projector.h"
#include "kernels/ops/rings.h"
#include "kernels/ops/second_pass.h"
#include "kernels/ops/session.h"
#include "kernels/ops/variation.h"

namespace isocenter::ops {

/// How closely a method follows its contract. kExact: float32 all through. kFast: filtered
/// projections may be held in float16, and interpolation between detector pixels rounded to 1/256
/// of their difference, as texture units do.
enum class Precision { kExact, kFast };

/// In which order a method adds numbers up. kFixed: by geometry and shapes alone, so that the same
/// input gives the same bits. kAny: results are reproducible only to rounding.
enum class Order { kFixed, kAny };

/// The largest arguments that an operation will be given: no extent of a stack or a volume is above
/// that of these.
struct Extents {
  Shape3 stack;
  VolumeGrid grid;
};

/// Makes an operation, and states what it will take.
template <class Operation, class... Spec>
class Factory {
 public:
  using Workspace = std::function<int64_t(const Device&, const Extents&, const Spec&...)>;

  template <class Create>
  requires std::is_invocable_v<const Create&, Session&, const Spec&...> Factory(
      Create create, Workspace workspace = nullptr)
      : create_(std::move(create)), workspace_(std::move(workspace)) {}

  absl::StatusOr<std::unique_ptr<Operation>> operator()(Session& session,
                                                        const Spec&... spec) const {
    return create_(session, spec...);
  }
  /// Device memory, at most, that one operation takes beside its arguments while it lives: when it
  /// is made, and when it first runs. Nothing is allocated.
  int64_t WorkspaceBytes(const Device& device, const Extents& extents, const Spec&... spec) const {
    return workspace_ == nullptr ? 0 : workspace_(device, extents, spec...);
  }

 private:
  std::function<absl::StatusOr<std::unique_ptr<Operation>>(Session&, const Spec&...)> create_;
  Workspace workspace_;  // none: 0
};

/// Named methods of one operation, per backend. Filled once at start (RegisterBackends), then
/// read-only.
template <class Factory>
class MethodTable {
 public:
  struct Entry {
    std::string backend;
    std::string method;
    Factory factory;
    Precision precision;
    Order order;
  };

  /// The first method of each precision that a backend adds is its default for it. Every backend
  /// has an exact one, and defaults have a fixed order.
  void Add(std::string backend, std::string method, Factory factory,
           Precision precision = Precision::kExact, Order order = Order::kFixed) {
    entries_.push_back(
        {std::move(backend), std::move(method), std::move(factory), precision, order});
  }
  /// `method` empty: the backend's default for `precision`; its exact one where it has no other.
  /// Errors: NOT_FOUND, listing what the backend has.
  absl::StatusOr<Factory> Find(absl::string_view backend, absl::string_view method = "",
                               Precision precision = Precision::kExact) const {
    absl::StatusOr<const Entry*> entry = FindEntry(backend, method, precision);
    if (!entry.ok()) return entry.status();
    return (*entry)->factory;
  }
  /// The same with the name that was found; it stays until the next Add.
  absl::StatusOr<const Entry*> FindEntry(absl::string_view backend, absl::string_view method = "",
                                         Precision precision = Precision::kExact) const {
    const Entry* exact = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.backend != backend) continue;
      if (method.empty() ? entry.precision == precision : entry.method == method) {
        return &entry;
      }
      if (exact == nullptr && entry.precision == Precision::kExact) exact = &entry;
    }
    if (method.empty() && exact != nullptr) return exact;
    std::vector<absl::string_view> methods;
    for (const Entry& entry : entries_) {
      if (entry.backend == backend) methods.push_back(entry.method);
    }
    return absl::NotFoundError(absl::StrCat("no method '", method, "' for backend '", backend,
                                            "'; there are: ", absl::StrJoin(methods, ", ")));
  }
  /// All methods, in order of registration.
  const std::vector<Entry>& List() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Opens a device: `threads` 0 means one per usable core, `memory_bytes` 0 the backend's own limit.
using DeviceFactory = std::function<absl::StatusOr<std::unique_ptr<Device>>(const DeviceLimits&)>;
using PreprocessFactory = Factory<Preprocess>;
using RampFilterFactory = Factory<RampFilter, RampFilterSpec>;
using BackprojectFactory = Factory<Backproject>;
using MatrixGradientFactory = Factory<MatrixGradient>;
using ToHounsfieldFactory = Factory<ToHounsfield>;
using NormalizeCountsFactory = Factory<NormalizeCounts, Calibration>;
using RecoverOverexposedFactory = Factory<RecoverOverexposed, Calibration>;
using InterpolateDefectsFactory = Factory<InterpolateDefects, Calibration>;
using CorrectLagFactory = Factory<CorrectLag, Calibration>;
using CorrectAirSweepFactory = Factory<CorrectAirSweep, Calibration>;
using FindDosesFactory = Factory<FindDoses, Calibration>;
using CorrectGlareFactory = Factory<CorrectGlare, Calibration>;
using CorrectScatterFactory = Factory<CorrectScatter, Calibration>;
using LinearizeFactory = Factory<Linearize, Calibration>;
using InterpolateTraceFactory = Factory<InterpolateTrace>;
using CorrectBoneFactory = Factory<CorrectBone, Calibration>;
using RemoveScatterFactory = Factory<RemoveScatter, Calibration>;
using ConeBeamArtefactFactory = Factory<ConeBeamArtefact, ConeBeamSpec>;
using RemoveRingsFactory = Factory<RemoveRings, RingSpec>;
using RemoveStripesFactory = Factory<RemoveStripes>;
using ForwardProjectFactory = Factory<ForwardProject>;
using RowSumsFactory = Factory<RowSums>;
using MatchedBackprojectFactory = Factory<MatchedBackproject>;
using ArithmeticFactory = Factory<Arithmetic>;
using VariationFactory = Factory<Variation>;
using FanBeamFilterFactory = Factory<FanBeamFilter, FanBeamFilterSpec>;
using FanBeamBackprojectFactory = Factory<FanBeamBackproject>;

/// From counts to line integrals (corrections.h), in the order of the chain.
struct CorrectionMethods {
  MethodTable<NormalizeCountsFactory> normalize;
  MethodTable<RecoverOverexposedFactory> overexposed;
  MethodTable<InterpolateDefectsFactory> defects;
  MethodTable<CorrectLagFactory> lag;
  MethodTable<CorrectAirSweepFactory> air_sweep;
  MethodTable<FindDosesFactory> doses;
  MethodTable<CorrectGlareFactory> glare;
  MethodTable<CorrectScatterFactory> scatter;
  MethodTable<LinearizeFactory> linearize;
};

/// The methods of one model. Where a backend has a method in both tables under the same name, each
/// is the other's adjoint. Backends without row sums project a volume of ones.
struct ProjectorMethods {
  MethodTable<ForwardProjectFactory> forward;
  MethodTable<MatchedBackprojectFactory> back;
  MethodTable<RowSumsFactory> row_sums;
};

struct Registry {
  std::map<std::string, DeviceFactory, std::less<>> devices;  // by backend
  CorrectionMethods corrections;
  MethodTable<PreprocessFactory> preprocess;
  MethodTable<RampFilterFactory> ramp_filter;
  MethodTable<BackprojectFactory> backproject;
  MethodTable<MatrixGradientFactory> matrix_gradient;
  MethodTable<ToHounsfieldFactory> to_hounsfield;
  std::map<ProjectorModel, ProjectorMethods> projectors;
  MethodTable<ArithmeticFactory> arithmetic;
  MethodTable<VariationFactory> variation;
  MethodTable<FanBeamFilterFactory> fan_beam_filter;
  MethodTable<FanBeamBackprojectFactory> fan_beam_backproject;
  MethodTable<InterpolateTraceFactory> trace;
  MethodTable<CorrectBoneFactory> bone;
  MethodTable<RemoveScatterFactory> remove_scatter;
  /// Backends may have none: then the host does it.
  MethodTable<ConeBeamArtefactFactory> cone_beam;
  MethodTable<RemoveRingsFactory> rings;
  MethodTable<RemoveStripesFactory> stripes;

  /// Errors: NOT_FOUND (listing the backends), UNAVAILABLE (no such device in this machine).
  absl::StatusOr<std::unique_ptr<Device>> OpenDevice(absl::string_view backend,
                                                     const DeviceLimits& limits) const;
};

}  // namespace isocenter::ops
