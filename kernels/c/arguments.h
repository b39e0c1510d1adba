// What callers hand in, checked and as types of the kernels. Nothing is read before its size is
// known to be legal.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/views.h"
#include "kernels/c/isocenter_kernels.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/iterative/settings.h"
#include "kernels/recon/settings.h"

namespace isocenter::c {

/// INVALID_ARGUMENT that says that it is null.
absl::Status CheckPointer(absl::string_view name, const void* pointer);

/// A text of the caller's; null is empty.
inline absl::string_view TextOf(const char* text) { return text == nullptr ? "" : text; }

/// `pixel_type` and `i0_counts` as isocenter_plan_fdk has them. The matrices come normalised.
/// Errors: INVALID_ARGUMENT (recon::ValidateAcquisition).
absl::StatusOr<recon::Acquisition> AcquisitionOf(const isocenter_scan* scan, int32_t pixel_type,
                                                 double i0_counts);
/// Where there are no frames.
absl::StatusOr<recon::Acquisition> AcquisitionOf(const isocenter_scan* scan);
absl::StatusOr<VolumeGrid> GridOf(const isocenter_grid* grid);
absl::StatusOr<recon::FdkSettings> FdkSettingsOf(const isocenter_fdk* fdk);
absl::StatusOr<recon::IterativeSettings> IterativeSettingsOf(const isocenter_iterative* iterative);
absl::StatusOr<ops::Precision> PrecisionNamed(const char* name);
isocenter_grid ToC(const VolumeGrid& grid);

/// Whether an array is there, aligned, and of so many elements as its shape has. Errors:
/// INVALID_ARGUMENT with both numbers.
absl::Status CheckArray(absl::string_view name, const void* data, size_t alignment, int64_t count,
                        const Shape3& shape);
/// The caller's array, checked so.
template <class T>
absl::StatusOr<HostView3<T>> ArrayOf(absl::string_view name, T* data, int64_t count,
                                     const Shape3& shape) {
  const absl::Status status = CheckArray(name, data, alignof(T), count, shape);
  if (!status.ok()) return status;
  return HostView3<T>(data, shape);
}

/// Errors: INVALID_ARGUMENT with the place of the first value that is not finite.
absl::Status CheckFinite(absl::string_view name, HostView3<const float> array);

/// All frames of a scan, `pixels` of them, as isocenter_plan_run has them. Errors: those of
/// CheckArray and CheckFinite.
absl::StatusOr<ops::RawFrames> FramesOf(const recon::Acquisition& acquisition, const void* frames,
                                        int64_t pixels);

/// INVALID_ARGUMENT where what is written lies in what is read.
absl::Status CheckApart(absl::string_view read, std::span<const std::byte> in,
                        absl::string_view written, std::span<const std::byte> out);

/// INVALID_ARGUMENT unless least <= value <= most; NaN never is.
template <class Number>
absl::Status CheckRange(absl::string_view name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, "; legal is ", least, " to ", most));
}

}  // namespace isocenter::c
