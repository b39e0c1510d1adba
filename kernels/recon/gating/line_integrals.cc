#include "kernels/recon/gating/line_integrals.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<std::vector<float>> LineIntegralsOf(const Acquisition& acquisition,
                                                   const ops::Registry& registry,
                                                   ops::Device& device,
                                                   const ops::RawFrames& frames,
                                                   std::span<const float> doses) {
  ISO_RETURN_IF_ERROR(ValidateAcquisition(acquisition));
  const int views = static_cast<int>(acquisition.trajectory.size());
  ISO_RETURN_IF_ERROR(CheckFrames(acquisition, views, frames, {}, doses));
  const Detector& detector = acquisition.detector;
  const int64_t frame = int64_t{detector.rows} * detector.columns;
  std::vector<float> lines;
  try {
    lines.resize(views * frame);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the line integrals of ", views, " frames need ",
                     BytesText(views * frame * static_cast<int64_t>(sizeof(float))), " of memory"));
  }
  const int chunk = std::min(views, device.traits().chunk_views);
  ISO_ASSIGN_OR_RETURN(const auto session, device.NewSession());
  ISO_ASSIGN_OR_RETURN(const auto converter, LineConverter::Create(acquisition, {0, detector.rows},
                                                                   chunk, registry, *session));
  for (int view = 0; view < views; view += chunk) {
    const int count = std::min(chunk, views - view);
    ISO_RETURN_IF_ERROR(
        converter->Run(frames.views(view, count), DosesOf(doses, view, count),
                       {lines.data() + view * frame, {count, detector.rows, detector.columns}}));
  }
  return lines;
}

}  // namespace isocenter::recon
