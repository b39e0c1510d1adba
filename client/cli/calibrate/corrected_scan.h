// A scan's frames as `isocenter reconstruct --calibration` corrects them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::cli {

class CorrectedScan {
 public:
  /// Warnings of CalibratedAcquisition go to stderr. Errors: those of formats::OpenAcquisition,
  /// CalibratedAcquisition and recon::ValidateAcquisition.
  static absl::StatusOr<CorrectedScan> Open(const std::string& scan,
                                            const std::string& calibration);

  /// Gives line integrals of every frame, [v][u], to `take` in order, with a progress bar; computed
  /// on the CPU. Errors: those of the scan, of recon::LineConverter and of `take`; CANCELLED
  /// (Ctrl-C).
  absl::Status Read(absl::FunctionRef<absl::Status(int frame, std::span<const float> lines)> take);

 private:
  CorrectedScan(std::unique_ptr<formats::FrameSource> source, recon::Acquisition acquisition)
      : source_(std::move(source)), acquisition_(std::move(acquisition)) {}

  std::unique_ptr<formats::FrameSource> source_;
  recon::Acquisition acquisition_;
};

}  // namespace isocenter::cli
