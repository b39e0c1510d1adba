// Fan-beam reconstruction (contracts: kernels/ops/fan_beam.h), in float32 and in float64. Buffers
// hold float32 in either case; what is between them is computed in the one or the other.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/fan_beam.h"
#include "kernels/ops/registry.h"

namespace isocenter::cpu {

/// Convolves by FFT, float32. Errors: INVALID_ARGUMENT (a session of another backend, a
/// specification out of range).
absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterFft(
    ops::Session& session, const ops::FanBeamFilterSpec& spec);
int64_t FanBeamFilterFftBytes(const ops::Device& device, const ops::Extents& extents,
                              const ops::FanBeamFilterSpec& spec);

/// Convolves term by term, float64: no transform rounds.
absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterDirect(
    ops::Session& session, const ops::FanBeamFilterSpec& spec);
int64_t FanBeamFilterDirectBytes(const ops::Device& device, const ops::Extents& extents,
                                 const ops::FanBeamFilterSpec& spec);

/// Where a pixel is seen is computed for each of its views, in T = float or double.
template <class T>
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackproject(
    ops::Session& session);
template <class T>
int64_t FanBeamBackprojectBytes(const ops::Device& device, const ops::Extents& extents);

/// A quarter turn of the source is one of the image: where a pixel is seen in one view, three
/// others are in the views a quarter turn on. After Zeng, Bai, Wang, Int. J. Biomed. Imaging 2007,
/// 29160. All views of a full scan that four divides, on a square grid around the axis;
/// NewFanBeamBackproject does the others.
template <class T>
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarter(
    ops::Session& session);
template <class T>
int64_t FanBeamBackprojectQuarterBytes(const ops::Device& device, const ops::Extents& extents);

/// As NewFanBeamBackprojectQuarter<float> with rows of arcs that are resampled to equal steps of
/// the tangent of the fan angle first (kernels/geometry/tangent_rows.h), `per_channel` elements for
/// a channel, in place of an arctangent: for measurements, since it smooths.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectTangent(
    ops::Session& session, int per_channel);
int64_t FanBeamBackprojectTangentBytes(int per_channel, const ops::Device& device,
                                       const ops::Extents& extents);

}  // namespace isocenter::cpu
