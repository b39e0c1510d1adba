// Acquisitions that something is calibrated with.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/recon/plan.h"

namespace isocenter::cli {

class SweepSource {
 public:
  /// Any acquisition of counts that the command line accepts; `flag` names it in errors. Errors:
  /// those of formats::OpenAcquisition; INVALID_ARGUMENT (line integrals).
  static absl::StatusOr<SweepSource> Open(const std::string& flag, const std::string& path);
  /// The same, also of line integrals.
  static absl::StatusOr<SweepSource> OpenAny(const std::string& flag, const std::string& path);

  /// "--flag: PATH", for errors.
  std::string where() const { return where_; }
  const v1::AcquisitionHeader& header() const { return source_->header(); }
  const Detector& detector() const { return acquisition_.detector; }
  bool has_lines() const {
    return acquisition_.pixel_type == recon::PixelType::kFloat32LineIntegrals;
  }
  double i0_counts() const { return acquisition_.i0_counts; }
  const Trajectory& trajectory() const { return acquisition_.trajectory; }
  int frames() const { return static_cast<int>(source_->header().frame_count()); }

  /// Of counts: gives every `step`-th frame to `take` in order, with a progress bar. Errors: those
  /// of the source and of `take`; CANCELLED (Ctrl-C).
  absl::Status Read(
      int step, absl::FunctionRef<absl::Status(int frame, std::span<const uint16_t> counts)> take);
  /// Of line integrals: the same of all frames.
  absl::Status ReadLines(
      absl::FunctionRef<absl::Status(int frame, std::span<const float> lines)> take);

 private:
  template <class Pixel>
  absl::Status ReadPixels(
      int step, absl::FunctionRef<absl::Status(int frame, std::span<const Pixel> pixels)> take);

  SweepSource(std::string flag, const std::string& path,
              std::unique_ptr<formats::FrameSource> source, recon::Acquisition acquisition)
      : flag_(std::move(flag)),
        where_(flag_ + ": " + path),
        source_(std::move(source)),
        acquisition_(std::move(acquisition)) {}

  std::string flag_, where_;
  std::unique_ptr<formats::FrameSource> source_;
  recon::Acquisition acquisition_;
};

}  // namespace isocenter::cli
