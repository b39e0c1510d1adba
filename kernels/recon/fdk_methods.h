// The operations of filtered back-projection that one plan is executed with.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/settings.h"

namespace isocenter::recon {

struct FdkMethods {
  ops::PreprocessFactory preprocess;
  ops::RampFilterFactory ramp_filter;
  ops::BackprojectFactory backproject;
  ops::ToHounsfieldFactory to_hounsfield;
  ops::RampFilterSpec filter;
  /// "ramp filter fused, back-projection staged".
  std::string description;

  /// Those that a backend has for the settings. Errors: NOT_FOUND, listing the methods that there
  /// are.
  static absl::StatusOr<FdkMethods> Find(const FdkSettings& settings, const Detector& detector,
                                         const ops::Registry& registry, absl::string_view backend);

  /// Device memory that they take together for themselves.
  int64_t WorkspaceBytes(const ops::Device& device, const ops::Extents& extents) const;
};

}  // namespace isocenter::recon
