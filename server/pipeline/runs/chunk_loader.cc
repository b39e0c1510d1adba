#include "server/pipeline/runs/chunk_loader.h"

#include <cmath>
#include <optional>
#include <type_traits>

#include "kernels/base/status_macros.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::pipeline {
namespace {

// out = (1 - weight) · out + weight · other
template <typename T>
void Blend(std::span<std::byte> out, std::span<const std::byte> other, float weight) {
  T* const a = reinterpret_cast<T*>(out.data());
  const T* const b = reinterpret_cast<const T*>(other.data());
  for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
    const float blended =
        (1 - weight) * static_cast<float>(a[i]) + weight * static_cast<float>(b[i]);
    if constexpr (std::is_integral_v<T>) {
      a[i] = static_cast<T>(std::lround(blended));
    } else {
      a[i] = blended;
    }
  }
}

}  // namespace

absl::Status LoadChunk(jobs::JobSpool& spool, const recon::Acquisition& acquisition,
                       std::span<const ViewSource> sources, std::span<std::byte> pixels,
                       std::vector<ProjectionMatrix>& measured) {
  const int64_t frame_bytes = FrameBytes(acquisition);
  std::vector<std::byte> second;
  measured.clear();
  for (size_t i = 0; i < sources.size(); ++i) {
    const ViewSource& source = sources[i];
    const std::span<std::byte> place = pixels.subspan(i * frame_bytes, frame_bytes);
    ISO_ASSIGN_OR_RETURN(std::optional<ProjectionMatrix> matrix, spool.Read(source.frame, place));
    if (source.blended_with >= 0) {
      second.resize(frame_bytes);
      ISO_RETURN_IF_ERROR(spool.Read(source.blended_with, second).status());
      if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
        Blend<uint16_t>(place, second, source.weight);
      } else {
        Blend<float>(place, second, source.weight);
      }
    }
    if (!source.own_matrix) matrix.reset();
    if (source.own_matrix && source.frame != source.view && !matrix) {
      matrix = acquisition.trajectory[source.frame];
    }
    if (matrix && measured.empty()) {
      for (size_t before = 0; before < i; ++before) {
        measured.push_back(acquisition.trajectory[sources[before].view]);
      }
    }
    if (matrix || !measured.empty()) {
      measured.push_back(matrix.value_or(acquisition.trajectory[source.view]));
    }
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
