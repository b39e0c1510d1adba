#include "kernels/c/arguments.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/completeness/repair/illegal_lines.h"

namespace isocenter::c {
namespace {

template <class Value, size_t kCount>
absl::StatusOr<Value> Named(absl::string_view field, const char* text,
                            const std::pair<absl::string_view, Value> (&names)[kCount]) {
  std::string legal;
  for (const auto& [name, value] : names) {
    if (name == TextOf(text)) return value;
    absl::StrAppend(&legal, legal.empty() ? "" : ", ", name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is '", TextOf(text), "'; legal is ", legal));
}

constexpr std::pair<absl::string_view, ops::FilterWindow> kWindows[] = {
    {"ram-lak", ops::FilterWindow::kRamLak},
    {"shepp-logan", ops::FilterWindow::kSheppLogan},
    {"cosine", ops::FilterWindow::kCosine},
    {"hamming", ops::FilterWindow::kHamming},
    {"hann", ops::FilterWindow::kHann}};
constexpr std::pair<absl::string_view, RedundancyWeighting> kRedundancies[] = {
    {"auto", RedundancyWeighting::kAuto},
    {"short-scan", RedundancyWeighting::kShortScan},
    {"full-scan", RedundancyWeighting::kFullScan}};
constexpr std::pair<absl::string_view, ops::Truncation> kTruncations[] = {
    {"none", ops::Truncation::kNone},
    {"mirror", ops::Truncation::kMirror},
    {"cylinder", ops::Truncation::kCylinder},
    {"atract", ops::Truncation::kAtract}};
constexpr std::pair<absl::string_view, ops::Precision> kPrecisions[] = {
    {"exact", ops::Precision::kExact}, {"fast", ops::Precision::kFast}};

absl::StatusOr<bool> FlagOf(absl::string_view field, int32_t value) {
  ISO_RETURN_IF_ERROR(CheckRange(field, value, 0, 1));
  return value == 1;
}

// Where a value is not finite, or the end. Whole blocks are looked at without a branch for each.
const float* FindNotFinite(std::span<const float> values) {
  constexpr size_t kBlock = 4096;
  constexpr uint32_t kExponent = 0x7f800000;
  for (size_t first = 0; first < values.size(); first += kBlock) {
    const auto block = values.subspan(first, std::min(kBlock, values.size() - first));
    uint32_t largest = 0;
    for (const float value : block) {
      largest = std::max(largest, std::bit_cast<uint32_t>(value) & kExponent);
    }
    if (largest != kExponent) continue;
    return &*std::find_if(block.begin(), block.end(), [](float value) {
      return (std::bit_cast<uint32_t>(value) & kExponent) == kExponent;
    });
  }
  return values.data() + values.size();
}

}  // namespace

absl::Status CheckPointer(absl::string_view name, const void* pointer) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is NULL"));
}

absl::StatusOr<recon::Acquisition> AcquisitionOf(const isocenter_scan* scan, int32_t pixel_type,
                                                 double i0_counts) {
  ISO_RETURN_IF_ERROR(CheckPointer("scan", scan));
  ISO_RETURN_IF_ERROR(CheckRange<int64_t>("scan.views", scan->views, 1, kMaxViews));
  ISO_RETURN_IF_ERROR(CheckArray("scan.matrices", scan->matrices, alignof(double), 12, {1, 3, 4}));
  ISO_RETURN_IF_ERROR(CheckRange<int32_t>("pixel_type", pixel_type, ISOCENTER_COUNTS_UINT16,
                                          ISOCENTER_LINE_INTEGRALS_FLOAT32));
  recon::Acquisition acquisition{
      .detector = {scan->columns, scan->rows, scan->pitch_u_mm, scan->pitch_v_mm},
      .pixel_type = recon::PixelType::kFloat32LineIntegrals};
  if (pixel_type == ISOCENTER_COUNTS_UINT16) {
    acquisition.pixel_type = recon::PixelType::kUint16Counts;
    acquisition.i0_counts = i0_counts;
  }
  acquisition.trajectory.reserve(static_cast<size_t>(scan->views));
  for (int64_t view = 0; view < scan->views; ++view) {
    ProjectionMatrix matrix;
    std::copy_n(scan->matrices + 12 * view, 12, matrix.m.begin());
    auto normalized = NormalizeMatrix(matrix);
    if (!normalized.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("matrix of view ", view, ": ", normalized.status().message()));
    }
    acquisition.trajectory.push_back(*normalized);
  }
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(acquisition));
  return acquisition;
}

absl::StatusOr<recon::Acquisition> AcquisitionOf(const isocenter_scan* scan) {
  return AcquisitionOf(scan, ISOCENTER_LINE_INTEGRALS_FLOAT32, 0);
}

absl::StatusOr<VolumeGrid> GridOf(const isocenter_grid* grid) {
  ISO_RETURN_IF_ERROR(CheckPointer("grid", grid));
  VolumeGrid made{.nx = grid->nx, .ny = grid->ny, .nz = grid->nz};
  made.spacing = {grid->spacing_mm[0], grid->spacing_mm[1], grid->spacing_mm[2]};
  made.origin = {grid->origin_mm[0], grid->origin_mm[1], grid->origin_mm[2]};
  std::copy_n(grid->direction, 9, made.direction.begin());
  ISO_RETURN_IF_ERROR(ValidateGrid(made));
  return made;
}

isocenter_grid ToC(const VolumeGrid& grid) {
  isocenter_grid made{.nx = grid.nx,
                      .ny = grid.ny,
                      .nz = grid.nz,
                      .spacing_mm = {grid.spacing.x, grid.spacing.y, grid.spacing.z},
                      .origin_mm = {grid.origin.x, grid.origin.y, grid.origin.z}};
  std::copy_n(grid.direction.begin(), 9, made.direction);
  return made;
}

absl::StatusOr<ops::Precision> PrecisionNamed(const char* name) {
  return Named("precision", name, kPrecisions);
}

absl::StatusOr<recon::FdkSettings> FdkSettingsOf(const isocenter_fdk* fdk) {
  ISO_RETURN_IF_ERROR(CheckPointer("fdk", fdk));
  recon::FdkSettings settings{.cutoff = fdk->cutoff, .mu_water_per_mm = fdk->mu_water_per_mm};
  ISO_ASSIGN_OR_RETURN(settings.window, Named("window", fdk->window, kWindows));
  ISO_ASSIGN_OR_RETURN(settings.redundancy, Named("redundancy", fdk->redundancy, kRedundancies));
  ISO_ASSIGN_OR_RETURN(settings.truncation, Named("truncation", fdk->truncation, kTruncations));
  ISO_ASSIGN_OR_RETURN(settings.precision, PrecisionNamed(fdk->precision));
  ISO_RETURN_IF_ERROR(recon::ValidateFdkSettings(settings));
  return settings;
}

absl::StatusOr<recon::IterativeSettings> IterativeSettingsOf(const isocenter_iterative* iterative) {
  ISO_RETURN_IF_ERROR(CheckPointer("iterative", iterative));
  const isocenter_iterative& from = *iterative;
  recon::IterativeSettings settings{.iterations = from.iterations,
                                    .subsets = from.subsets,
                                    .relaxation = from.relaxation,
                                    .relaxation_decay = from.relaxation_decay,
                                    .prior_strength = from.prior_strength,
                                    .huber_delta_per_mm = from.huber_delta_per_mm,
                                    .tv_steps = from.tv_steps,
                                    .stop_residual = from.stop_residual,
                                    .surroundings_factor = from.surroundings_factor};
  ISO_ASSIGN_OR_RETURN(settings.algorithm, recon::AlgorithmNamed(TextOf(from.algorithm)));
  ISO_ASSIGN_OR_RETURN(settings.projector, ops::ProjectorNamed(TextOf(from.projector)));
  ISO_ASSIGN_OR_RETURN(settings.precision, PrecisionNamed(from.precision));
  ISO_ASSIGN_OR_RETURN(settings.matched, FlagOf("matched", from.matched));
  ISO_ASSIGN_OR_RETURN(settings.non_negative, FlagOf("non_negative", from.non_negative));
  ISO_ASSIGN_OR_RETURN(settings.warm_start, FlagOf("warm_start", from.warm_start));
  ISO_ASSIGN_OR_RETURN(settings.statistical_weights,
                       FlagOf("statistical_weights", from.statistical_weights));
  ISO_RETURN_IF_ERROR(recon::ValidateIterativeSettings(settings));
  return settings;
}

absl::Status CheckArray(absl::string_view name, const void* data, size_t alignment, int64_t count,
                        const Shape3& shape) {
  ISO_RETURN_IF_ERROR(CheckPointer(name, data));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " begins at an address that is no multiple of ", alignment, "; legal is one"));
  }
  if (count == shape.count()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " has ", count, " elements; legal is ",
                                                 shape.slow, " x ", shape.middle, " x ", shape.fast,
                                                 " = ", shape.count()));
}

absl::Status CheckFinite(absl::string_view name, HostView3<const float> array) {
  const std::span<const float> values = array.span();
  const float* const found = FindNotFinite(values);
  const int64_t at = found - values.data();
  if (at == array.shape().count()) return absl::OkStatus();
  const Shape3& shape = array.shape();
  return absl::InvalidArgumentError(absl::StrCat(
      name, "[", at / (shape.middle * shape.fast), ", ", at / shape.fast % shape.middle, ", ",
      at % shape.fast, "] is ", *found, "; legal is a finite number"));
}

absl::StatusOr<ops::RawFrames> FramesOf(const recon::Acquisition& acquisition, const void* frames,
                                        int64_t pixels) {
  const Detector& detector = acquisition.detector;
  const Shape3 shape{static_cast<int64_t>(acquisition.trajectory.size()), detector.rows,
                     detector.columns};
  if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
    ISO_ASSIGN_OR_RETURN(const HostView3<const uint16_t> counts,
                         ArrayOf("frames", static_cast<const uint16_t*>(frames), pixels, shape));
    return ops::RawFrames{.counts = counts};
  }
  ISO_ASSIGN_OR_RETURN(const HostView3<const float> lines,
                       ArrayOf("frames", static_cast<const float*>(frames), pixels, shape));
  ISO_RETURN_IF_ERROR(CheckFinite("frames", lines));
  const std::span<const std::byte> bytes = std::as_bytes(lines.span());
  const recon::IllegalLines found = recon::FindIllegalLines({&bytes, 1});
  if (found.found()) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames: ", recon::IllegalLinesText(found, detector), " either way"));
  }
  return ops::RawFrames{.line_integrals = lines};
}

absl::Status CheckApart(absl::string_view read, std::span<const std::byte> in,
                        absl::string_view written, std::span<const std::byte> out) {
  const std::less<const std::byte*> before;
  const auto end = [](std::span<const std::byte> bytes) { return bytes.data() + bytes.size(); };
  if (!before(in.data(), end(out)) || !before(out.data(), end(in))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(written, " lies in the memory of ", read, "; legal is memory of its own"));
}

}  // namespace isocenter::c
