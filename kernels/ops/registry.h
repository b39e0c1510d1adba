// Which backends and methods exist. A method is one file and one registration line in its backend's
// register.cc; tests, benchmarks and recipes find it here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/device.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/projector.h"
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
    const Entry* exact = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.backend != backend) continue;
      if (method.empty() ? entry.precision == precision : entry.method == method) {
        return entry.factory;
      }
      if (exact == nullptr && entry.precision == Precision::kExact) exact = &entry;
    }
    if (method.empty() && exact != nullptr) return exact->factory;
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
using PreprocessFactory = std::function<absl::StatusOr<std::unique_ptr<Preprocess>>(Session&)>;
using RampFilterFactory =
    std::function<absl::StatusOr<std::unique_ptr<RampFilter>>(Session&, const RampFilterSpec&)>;
using BackprojectFactory = std::function<absl::StatusOr<std::unique_ptr<Backproject>>(Session&)>;
using ToHounsfieldFactory = std::function<absl::StatusOr<std::unique_ptr<ToHounsfield>>(Session&)>;

using ForwardProjectFactory =
    std::function<absl::StatusOr<std::unique_ptr<ForwardProject>>(Session&)>;
using MatchedBackprojectFactory =
    std::function<absl::StatusOr<std::unique_ptr<MatchedBackproject>>(Session&)>;
using ArithmeticFactory = std::function<absl::StatusOr<std::unique_ptr<Arithmetic>>(Session&)>;
using VariationFactory = std::function<absl::StatusOr<std::unique_ptr<Variation>>(Session&)>;

/// The methods of one model. Where a backend has a method in both tables under the same name, each
/// is the other's adjoint.
struct ProjectorMethods {
  MethodTable<ForwardProjectFactory> forward;
  MethodTable<MatchedBackprojectFactory> back;
};

struct Registry {
  std::map<std::string, DeviceFactory, std::less<>> devices;  // by backend
  MethodTable<PreprocessFactory> preprocess;
  MethodTable<RampFilterFactory> ramp_filter;
  MethodTable<BackprojectFactory> backproject;
  MethodTable<ToHounsfieldFactory> to_hounsfield;
  std::map<ProjectorModel, ProjectorMethods> projectors;
  MethodTable<ArithmeticFactory> arithmetic;
  MethodTable<VariationFactory> variation;

  /// Errors: NOT_FOUND (listing the backends), UNAVAILABLE (no such device in this machine).
  absl::StatusOr<std::unique_ptr<Device>> OpenDevice(absl::string_view backend,
                                                     const DeviceLimits& limits) const;
};

}  // namespace isocenter::ops
