#include "server/pipeline/runs/chunk_loader.h"

#include <optional>

#include "kernels/base/status_macros.h"
#include "kernels/recon/completeness/repair/frame_blend.h"
#include "kernels/recon/completeness/repair/illegal_lines.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::pipeline {
namespace {

/// The matrix that a view's pixels are back-projected with; nothing: the planned one.
std::optional<ProjectionMatrix> MatrixOf(const ViewSource& source,
                                         const std::optional<ProjectionMatrix>& measured,
                                         const Trajectory& planned) {
  if (!source.own_matrix) return std::nullopt;
  if (!measured && source.frame != source.view) return planned[source.frame];
  return measured;
}

/// The spool has frames as they were sent: what no beam gives is not computed with.
absl::StatusOr<jobs::FrameMeasurement> ReadFrame(jobs::JobSpool& spool,
                                                 const recon::Acquisition& acquisition, int frame,
                                                 std::span<std::byte> pixels) {
  ISO_ASSIGN_OR_RETURN(const jobs::FrameMeasurement told, spool.Read(frame, pixels));
  if (acquisition.pixel_type == recon::PixelType::kFloat32LineIntegrals) {
    recon::RepairLineIntegrals(acquisition.detector, {reinterpret_cast<float*>(pixels.data()),
                                                      pixels.size() / sizeof(float)});
  }
  return told;
}

/// Of two frames' pixels, as they were blended; not told where it was not for both.
float BlendedDose(float dose, float other, float weight) {
  return dose == 0 || other == 0 ? 0 : (1 - weight) * dose + weight * other;
}

/// Adds the value of the next view to a list that stays empty while there is nothing to say.
template <class T, class Default>
void Append(const std::optional<T>& value, size_t view, const Default& otherwise,
            std::vector<T>& values) {
  if (!value && values.empty()) return;
  while (values.size() < view) values.push_back(otherwise(values.size()));
  values.push_back(value ? *value : otherwise(view));
}

}  // namespace

absl::Status LoadChunk(jobs::JobSpool& spool, const recon::Acquisition& acquisition,
                       std::span<const ViewSource> sources, std::span<std::byte> pixels,
                       Measured& measured) {
  const int64_t frame_bytes = FrameBytes(acquisition);
  std::vector<std::byte> second;
  measured.matrices.clear();
  measured.doses.clear();
  for (size_t i = 0; i < sources.size(); ++i) {
    const ViewSource& source = sources[i];
    const std::span<std::byte> place = pixels.subspan(i * frame_bytes, frame_bytes);
    ISO_ASSIGN_OR_RETURN(jobs::FrameMeasurement told,
                         ReadFrame(spool, acquisition, source.frame, place));
    if (source.blended_with >= 0) {
      second.resize(frame_bytes);
      ISO_ASSIGN_OR_RETURN(const jobs::FrameMeasurement other,
                           ReadFrame(spool, acquisition, source.blended_with, second));
      told.dose = BlendedDose(told.dose, other.dose, source.weight);
      recon::BlendFrames(acquisition.pixel_type, place, second, source.weight);
    }
    Append(
        MatrixOf(source, told.matrix, acquisition.trajectory), i,
        [&](size_t view) { return acquisition.trajectory[sources[view].view]; }, measured.matrices);
    Append(
        told.dose == 0 ? std::nullopt : std::optional(told.dose), i, [](size_t) { return 0.0F; },
        measured.doses);
  }
  return absl::OkStatus();
}

ops::RawFrames AsFrames(const recon::Acquisition& acquisition, int views,
                        std::span<const std::byte> pixels) {
  const Shape3 shape{views, acquisition.detector.rows, acquisition.detector.columns};
  ops::RawFrames frames;
  if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
    frames.counts = {reinterpret_cast<const uint16_t*>(pixels.data()), shape};
  } else {
    frames.line_integrals = {reinterpret_cast<const float*>(pixels.data()), shape};
  }
  return frames;
}

}  // namespace isocenter::pipeline
