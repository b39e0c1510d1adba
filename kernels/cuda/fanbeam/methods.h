// Fan-beam reconstruction (contracts: kernels/ops/fan_beam.h). A thread has a pixel and goes over
// the views, as Mendl et al. (2013), algorithm 3, without its errors.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/fan_beam.h"
#include "kernels/ops/registry.h"

namespace isocenter::cuda {

/// Term by term in float64: no transform rounds, and no library is needed. Errors:
/// INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterDirect(
    CudaSession& session, const ops::FanBeamFilterSpec& spec);
int64_t FanBeamFilterDirectBytes(const ops::Extents& extents, const ops::FanBeamFilterSpec& spec);
/// By cuFFT, float32. Errors: the same, FAILED_PRECONDITION (no cuFFT on this machine).
absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterCufft(
    CudaSession& session, const ops::FanBeamFilterSpec& spec);
int64_t FanBeamFilterCufftBytes(const ops::Extents& extents, const ops::FanBeamFilterSpec& spec);

/// float32, arctangents by a polynomial, values from memory.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectPolynomial(
    CudaSession& session);
/// float32, the library's arctangent, values from memory.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectPlain(
    CudaSession& session);
/// float64 throughout, values from memory.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectDouble(
    CudaSession& session);
/// float32, the library's arctangent, values interpolated by the texture unit.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectTexture(
    CudaSession& session);
/// The same with the compiler's fast math and the polynomial.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectFast(
    CudaSession& session);
/// float32 with the polynomial, values from memory. A quarter turn of the source is one of the
/// image: where a pixel is seen in one view serves four (kernels/geometry/quarter_turns.h). What is
/// not alike is done as NewFanBeamBackprojectPolynomial does.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarter(
    CudaSession& session);
int64_t FanBeamBackprojectQuarterBytes(const ops::Extents& extents);
/// The same in float64; else as NewFanBeamBackprojectDouble.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarterDouble(
    CudaSession& session);
int64_t FanBeamBackprojectQuarterDoubleBytes(const ops::Extents& extents);
/// The same in float32 with values from the texture unit; else as NewFanBeamBackprojectTexture.
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarterTexture(
    CudaSession& session);
int64_t FanBeamBackprojectQuarterTextureBytes(const ops::Extents& extents);
/// As NewFanBeamBackprojectQuarter with rows of arcs that are resampled to equal steps of the
/// tangent of the fan angle first, 1, 4 or 16 elements for a channel, in place of an arctangent:
/// for measurements, since it smooths.
template <int kPerChannel>
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectTangent(
    CudaSession& session);
template <int kPerChannel>
int64_t FanBeamBackprojectTangentBytes(const ops::Extents& extents);
/// What those that go over all views take, without and with a texture.
int64_t FanBeamBackprojectBytes(const ops::Extents& extents);
int64_t FanBeamBackprojectTextureBytes(const ops::Extents& extents);

}  // namespace isocenter::cuda
