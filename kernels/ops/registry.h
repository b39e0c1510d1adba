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
#include "kernels/ops/device.h"
#include "kernels/ops/operations.h"

namespace isocenter::ops {

/// Named methods of one operation, per backend. Filled once at start (RegisterBackends), then
/// read-only.
template <class Factory>
class MethodTable {
 public:
  /// The first method that a backend adds is its default.
  void Add(std::string backend, std::string method, Factory factory) {
    entries_.push_back({std::move(backend), std::move(method), std::move(factory)});
  }
  /// `method` empty: the backend's default. Errors: NOT_FOUND, listing what exists.
  absl::StatusOr<Factory> Find(absl::string_view backend, absl::string_view method = "") const {
    for (const Entry& entry : entries_) {
      if (entry.backend == backend && (method.empty() || entry.method == method))
        return entry.factory;
    }
    return absl::NotFoundError(absl::StrCat(
        "no method '", method, "' for backend '", backend,
        "'; there are: ", absl::StrJoin(entries_, ", ", [](std::string* out, const Entry& entry) {
          absl::StrAppend(out, entry.backend, "/", entry.method);
        })));
  }
  /// (backend, method) pairs in order of registration.
  std::vector<std::pair<std::string, std::string>> List() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Entry& entry : entries_) all.emplace_back(entry.backend, entry.method);
    return all;
  }

 private:
  struct Entry {
    std::string backend;
    std::string method;
    Factory factory;
  };
  std::vector<Entry> entries_;
};

/// Opens a device: `threads` 0 means one per usable core, `memory_bytes` 0 the backend's own limit.
using DeviceFactory = std::function<absl::StatusOr<std::unique_ptr<Device>>(const DeviceLimits&)>;
using PreprocessFactory = std::function<absl::StatusOr<std::unique_ptr<Preprocess>>(Device&)>;
using RampFilterFactory =
    std::function<absl::StatusOr<std::unique_ptr<RampFilter>>(Device&, const RampFilterSpec&)>;
using BackprojectFactory = std::function<absl::StatusOr<std::unique_ptr<Backproject>>(Device&)>;
using ToHounsfieldFactory = std::function<absl::StatusOr<std::unique_ptr<ToHounsfield>>(Device&)>;

struct Registry {
  std::map<std::string, DeviceFactory, std::less<>> devices;  // by backend
  MethodTable<PreprocessFactory> preprocess;
  MethodTable<RampFilterFactory> ramp_filter;
  MethodTable<BackprojectFactory> backproject;
  MethodTable<ToHounsfieldFactory> to_hounsfield;

  /// Errors: NOT_FOUND (listing the backends), UNAVAILABLE (no such device in this machine).
  absl::StatusOr<std::unique_ptr<Device>> OpenDevice(absl::string_view backend,
                                                     const DeviceLimits& limits) const;
};

}  // namespace isocenter::ops
