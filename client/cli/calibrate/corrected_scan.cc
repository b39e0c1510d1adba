#include "client/cli/calibrate/corrected_scan.h"

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "client/cli/interrupt.h"
#include "client/cli/options/calibrated_acquisition.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/warnings.h"
#include "client/flags/command.h"
#include "client/formats/acquisition_input.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/line_converter.h"

namespace isocenter::cli {

absl::StatusOr<CorrectedScan> CorrectedScan::Open(const std::string& scan,
                                                  const std::string& calibration) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<formats::FrameSource> source,
                       formats::OpenAcquisition(scan, {}, std::nullopt));
  std::vector<std::string> warnings;
  ISO_ASSIGN_OR_RETURN(recon::Acquisition acquisition,
                       CalibratedAcquisition(source->header(), calibration, warnings));
  PrintWarnings(warnings);
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(acquisition));
  return CorrectedScan(std::move(source), std::move(acquisition));
}

absl::Status CorrectedScan::Read(
    absl::FunctionRef<absl::Status(int frame, std::span<const float> lines)> take) {
  const Detector& detector = acquisition_.detector;
  ISO_ASSIGN_OR_RETURN(const auto device, Backends().OpenDevice("cpu", {}));
  ISO_ASSIGN_OR_RETURN(const auto session, device->NewSession());
  ISO_ASSIGN_OR_RETURN(
      const auto converter,
      recon::LineConverter::Create(acquisition_, {0, detector.rows}, 1, Backends(), *session));
  const Shape3 shape{1, detector.rows, detector.columns};
  std::vector<uint16_t> counts(shape.count());
  std::vector<float> lines(shape.count());
  const Interrupt interrupt;
  const int frames = static_cast<int>(acquisition_.trajectory.size());
  ProgressBar bar("scan", "frames", frames);
  for (int frame = 0; frame < frames; ++frame) {
    if (interrupt.happened()) return flags::Interrupted("interrupted; nothing was written");
    ISO_RETURN_IF_ERROR(source_->Read(frame, std::as_writable_bytes(std::span(counts))));
    const float dose = source_->dose(frame);
    ISO_RETURN_IF_ERROR(
        converter->Run({.counts = {counts.data(), shape}}, {&dose, 1}, {lines.data(), shape}));
    ISO_RETURN_IF_ERROR(take(frame, lines));
    bar.Update(frame + 1);
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cli
