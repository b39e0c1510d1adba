#include "server/pipeline/frames/frame_monitor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/base/share_text.h"
#include "kernels/base/units.h"
#include "kernels/geometry/angle_between.h"
#include "kernels/geometry/orbits/trajectory_alignment.h"
#include "kernels/geometry/source_position.h"
#include "kernels/recon/completeness/byte_order.h"

namespace isocenter::pipeline {
namespace {

constexpr double kDippedTo = 0.7;
constexpr double kRecoveredTo = 0.8;  // higher, so that noise at the limit is one dip
constexpr size_t kDoseFrames = 8;
constexpr double kDoseArc = DegreesToRadians(6);
constexpr double kJumpMm = 2, kJumpPixels = 2;
// Logarithms are slow: they are taken of every eighth sampled pixel.
constexpr size_t kLogStride = 8;

/// A row of a frame that is in pieces.
void CopyRow(std::span<const std::span<const std::byte>> pieces, int row, std::span<std::byte> to) {
  size_t from = row * to.size(), piece_begin = 0;
  for (const std::span<const std::byte> piece : pieces) {
    const size_t piece_end = piece_begin + piece.size();
    if (to.empty()) return;
    if (piece_end > from) {
      const size_t bytes = std::min(to.size(), piece_end - from);
      std::memcpy(to.data(), piece.data() + (from - piece_begin), bytes);
      from += bytes;
      to = to.subspan(bytes);
    }
    piece_begin = piece_end;
  }
}

jobs::WarningKind KindOf(recon::ScanFault fault) {
  switch (fault) {
    case recon::ScanFault::kRepeatedFrames:
    case recon::ScanFault::kStillViews:
    case recon::ScanFault::kFrameEcho:
      return jobs::WarningKind::kRepeatedFrames;
    case recon::ScanFault::kAirLevel:
      return jobs::WarningKind::kAirLevel;
    case recon::ScanFault::kDoseSteps:
    case recon::ScanFault::kHalfSteps:
    case recon::ScanFault::kDoseStrips:
      return jobs::WarningKind::kDoseUnknown;
    case recon::ScanFault::kCopiedColumns:
    case recon::ScanFault::kUnknownDefects:
    case recon::ScanFault::kStillPixels:
      return jobs::WarningKind::kUnknownDefects;
    case recon::ScanFault::kOffsetDrift:
    case recon::ScanFault::kBeamContent:
    case recon::ScanFault::kCountNoise:
      return jobs::WarningKind::kAirLevel;
    case recon::ScanFault::kThickRays:
      return jobs::WarningKind::kBeyondCalibration;
    case recon::ScanFault::kColumnOrder:
    case recon::ScanFault::kFrameJitter:
    case recon::ScanFault::kRowLength:
    case recon::ScanFault::kMatricesMisfit:
      break;
  }
  return jobs::WarningKind::kMatricesMisfit;
}

}  // namespace

FrameMonitor::FrameMonitor(const recon::Acquisition& acquisition, ops::Truncation truncation)
    : acquisition_(acquisition),
      matrices_(acquisition.trajectory),
      deviations_(acquisition.trajectory.size()),
      detector_levels_(acquisition),
      watch_(acquisition),
      silent_rows_(acquisition) {
  planned_.reserve(acquisition.trajectory.size());
  for (const ProjectionMatrix& matrix : acquisition.trajectory) {
    planned_.push_back(PoseOf(matrix));
  }
  const int rows = recon::ScanWatch::SampledRows(acquisition_.detector.rows);
  const size_t row_bytes =
      acquisition_.detector.columns * recon::PixelBytes(acquisition_.pixel_type);
  sample_.resize(rows * row_bytes);
  for (int i = 0; i < rows; ++i) {
    sampled_.push_back({recon::ScanWatch::SampledRow(i, acquisition_.detector.rows),
                        std::span(sample_).subspan(i * row_bytes, row_bytes)});
  }
  if (truncation == ops::Truncation::kNone) cut_rows_.emplace(acquisition);
}

std::vector<jobs::JobWarning> FrameMonitor::OnFrame(
    int index, std::span<const std::span<const std::byte>> pixels,
    const recon::IllegalLines& illegal, const std::optional<ProjectionMatrix>& measured,
    double dose) {
  std::vector<jobs::JobWarning> warnings;
  ++frames_;
  if (illegal.found()) {
    std::string text = recon::RepairedLinesText(illegal, acquisition_.detector);
    repaired_.Add(index, text);
    if (repaired_.frames() == 1) {
      warnings.push_back({jobs::WarningKind::kDeadDetector, index, std::move(text)});
    }
  }
  Sample(index, pixels);
  CheckMatrix(index, measured, warnings);
  if (measured) matrices_[index] = *measured;
  if (auto order = recon::OtherByteOrderText(sampled_, acquisition_.pixel_type)) {
    // Whatever else such pixels seem to show would be told in words that lead astray.
    if (dead_.Update(true)) {
      warnings.push_back({jobs::WarningKind::kDeadDetector, index, *std::move(order)});
    }
    return warnings;
  }
  LookForSilentRows(index, pixels);
  const recon::DetectorLevels::Levels frame = detector_levels_.Look(sampled_);
  CheckDetector(index, frame, dose, warnings);
  // A detector that sees the same everywhere sees no patient.
  if (!frame.is_constant) CheckWidth(index, dose, warnings);
  if (const auto level = LogIntensity()) CheckDose(index, *level, warnings);
  // A frame that shows nothing has been told of.
  if (!frame.is_constant) CheckScan(index, dose, warnings);
  return warnings;
}

std::string FrameMonitor::WhyUnusable(int index, std::span<const std::span<const std::byte>> pixels,
                                      const recon::IllegalLines& illegal) {
  Sample(index, pixels);
  auto order = recon::OtherByteOrderText(sampled_, acquisition_.pixel_type);
  return order ? *std::move(order) : recon::IllegalLinesText(illegal, acquisition_.detector);
}

FrameMonitor::Pose FrameMonitor::PoseOf(const ProjectionMatrix& matrix) {
  const double a = matrix(0, 3), b = matrix(1, 3), c = matrix(2, 3);
  return {.source = SourceOf(matrix), .u = a / c, .v = b / c};
}

void FrameMonitor::Sample(int index, std::span<const std::span<const std::byte>> pixels) {
  for (size_t i = 0; i < sampled_.size(); ++i) {
    CopyRow(pixels, sampled_[i].v,
            std::span(sample_).subspan(i * sampled_[i].pixels.size(), sampled_[i].pixels.size()));
  }
  const size_t row_bytes = sample_.size() / sampled_.size();
  watched_.resize(watch_.rows(index) * row_bytes);
  watched_rows_.clear();
  for (int i = 0; i < watch_.rows(index); ++i) {
    const std::span to = std::span(watched_).subspan(i * row_bytes, row_bytes);
    watched_rows_.push_back({watch_.first_row(index) + i, to});
    CopyRow(pixels, watched_rows_.back().v, to);
  }
}

void FrameMonitor::LookForSilentRows(int index,
                                     std::span<const std::span<const std::byte>> pixels) {
  std::vector<std::byte> row(sample_.size() / sampled_.size());
  const int rows = acquisition_.detector.rows;
  for (int v = silent_rows_.first_row(index); v < rows; v += recon::SilentRows::kStep) {
    CopyRow(pixels, v, row);
    silent_rows_.Add({v, row});
  }
}

std::optional<double> FrameMonitor::LogIntensity() const {
  double sum = 0;
  int used = 0;
  if (acquisition_.pixel_type == recon::PixelType::kUint16Counts) {
    const std::span counts(reinterpret_cast<const uint16_t*>(sample_.data()),
                           sample_.size() / sizeof(uint16_t));
    for (size_t i = 0; i < counts.size(); i += kLogStride) {
      if (counts[i] == 0) continue;
      sum += std::log(static_cast<float>(counts[i]));
      ++used;
    }
    return used == 0 ? 0 : sum / used;
  }
  const std::span values(reinterpret_cast<const float*>(sample_.data()),
                         sample_.size() / sizeof(float));
  for (size_t i = 0; i < values.size(); i += kLogStride) {
    if (!std::isfinite(values[i])) continue;
    // No attenuation is that high; one pixel must not be all of the mean.
    sum -= std::clamp(values[i], -20.0f, 20.0f);
    ++used;
  }
  if (used == 0) return std::nullopt;
  return sum / used;
}

void FrameMonitor::CheckDetector(int index, const recon::DetectorLevels::Levels& frame, double dose,
                                 std::vector<jobs::JobWarning>& warnings) {
  std::optional<std::string> overexposed = detector_levels_.Overexposed(frame, dose);
  if (saturated_.Update(overexposed.has_value())) {
    warnings.push_back({jobs::WarningKind::kSaturatedDetector, index, *std::move(overexposed)});
  }
  std::optional<std::string> silent = detector_levels_.Silent(frame);
  if (dead_.Update(silent.has_value())) {
    warnings.push_back({jobs::WarningKind::kDeadDetector, index, *std::move(silent)});
  }
}

void FrameMonitor::CheckScan(int index, double dose, std::vector<jobs::JobWarning>& warnings) {
  for (recon::ScanFinding& finding : watch_.Add(index, sampled_, watched_rows_, dose)) {
    warnings.push_back({KindOf(finding.fault), finding.view, std::move(finding.text)});
  }
}

FrameMonitor::WholeScan FrameMonitor::OnEnd() const {
  WholeScan scan;
  if (repaired_.frames() > 1) {  // one has been told of
    scan.warnings.push_back(
        {jobs::WarningKind::kDeadDetector, std::nullopt,
         absl::StrCat(repaired_.Count(frames_),
                      ", line integrals that no beam gives are computed from the pixels beside")});
  }
  if (auto text = silent_rows_.Text()) {
    scan.warnings.push_back({jobs::WarningKind::kDeadDetector, std::nullopt, *std::move(text)});
  }
  const recon::OppositeRaysResult rays = watch_.JudgeRays(matrices_);
  for (recon::ScanFinding& finding : watch_.End(rays)) {
    scan.warnings.push_back({KindOf(finding.fault), finding.view, std::move(finding.text)});
  }
  for (std::string& text : MeasuredMisfits()) {
    scan.warnings.push_back({jobs::WarningKind::kMatricesMisfit, std::nullopt, std::move(text)});
  }
  // No warning: short arcs, and objects that look alike from everywhere, are legitimate.
  if (auto unchecked = recon::UncheckedOrderText(rays)) {
    scan.findings.push_back(*std::move(unchecked));
  }
  return scan;
}

std::vector<std::string> FrameMonitor::MeasuredMisfits() const {
  if (matrices_ == acquisition_.trajectory) return {};  // no frame brought one
  const absl::StatusOr<TrajectoryAlignment> alignment = Align(acquisition_.trajectory, matrices_);
  if (!alignment.ok()) return {};  // a frame's matrix that nobody can decompose has been refused
  std::vector<std::string> texts = Misalignments(*alignment, "the planned ones");
  if (auto focal = FocalMisfit(*alignment, "the planned ones")) texts.push_back(*std::move(focal));
  for (std::string& text : texts) text = absl::StrCat("the measured matrices ", text);
  return texts;
}

void FrameMonitor::CheckWidth(int index, double dose, std::vector<jobs::JobWarning>& warnings) {
  if (!cut_rows_) return;
  if (!cut_rows_->Add(sampled_, dose)) return;
  const auto kind =
      cut_rows_->shows_air() ? jobs::WarningKind::kAirLevel : jobs::WarningKind::kCutObject;
  warnings.push_back({kind, index,
                      cut_rows_->Text("; unless the protocol corrects for truncation, as "
                                      "fdk_truncated does, the volume is wrong by tens of per "
                                      "cent")});
}

std::optional<double> FrameMonitor::UsualLevel(int index) const {
  const Vec3 source = planned_[index].source;
  std::vector<double> near;
  for (const Level& level : levels_) {
    const Vec3 other = planned_[level.frame].source;
    if (AngleBetween(source, other) <= kDoseArc) {
      near.push_back(level.log_intensity);
    }
  }
  if (near.empty()) return std::nullopt;
  return MedianOf(near);
}

void FrameMonitor::CheckDose(int index, double log_intensity,
                             std::vector<jobs::JobWarning>& warnings) {
  if (frames_in_dip_ > 0) {
    const bool ended = log_intensity >= level_before_dip_ + std::log(kRecoveredTo);
    if (!ended && ++frames_in_dip_ <= static_cast<int>(kDoseFrames)) return;
    if (!ended) levels_.clear();
    frames_in_dip_ = 0;
  } else if (const std::optional<double> usual = UsualLevel(index);
             usual && log_intensity < *usual + std::log(kDippedTo)) {
    level_before_dip_ = *usual;
    frames_in_dip_ = 1;
    warnings.push_back(
        {jobs::WarningKind::kDoseDip, index,
         absl::StrFormat(
             "the detector receives %s of the dose of the frames before; expected is at "
             "least %.0f %%",
             ShareText(std::exp(log_intensity - *usual)), 100 * kDippedTo)});
    return;
  }
  levels_.push_back({index, log_intensity});
  if (levels_.size() > kDoseFrames) levels_.pop_front();
}

void FrameMonitor::CheckMatrix(int index, const std::optional<ProjectionMatrix>& measured,
                               std::vector<jobs::JobWarning>& warnings) {
  Pose deviation;
  if (measured) {
    const Pose pose = PoseOf(*measured), &plan = planned_[index];
    deviation = {.source = pose.source - plan.source, .u = pose.u - plan.u, .v = pose.v - plan.v};
  }
  deviations_[index] = deviation;
  double millimetres = 0, pixels = 0;
  bool compared = false;
  for (const int neighbour : {index - 1, index + 1}) {
    if (neighbour < 0 || neighbour >= static_cast<int>(deviations_.size())) continue;
    const std::optional<Pose>& other = deviations_[neighbour];
    if (!other) continue;
    compared = true;
    millimetres = std::max(millimetres, Norm(deviation.source - other->source));
    pixels = std::max(pixels, std::hypot(deviation.u - other->u, deviation.v - other->v));
  }
  if (!compared || !jump_.Update(millimetres > kJumpMm || pixels > kJumpPixels)) return;
  warnings.push_back(
      {jobs::WarningKind::kMatrixJump, index,
       absl::StrFormat(
           "the measured position jumps against the planned one: the source by %.1f mm, "
           "the isocentre's image by %.1f pixels from one frame to the next; expected "
           "are at most %.0f mm and %.0f pixels",
           millimetres, pixels, kJumpMm, kJumpPixels)});
}

std::optional<jobs::JobWarning> ShortArcWarning(const recon::ReconstructionPlan& plan) {
  if (plan.full_scan) return std::nullopt;
  const double needed = kPi + plan.fan_angle;
  constexpr double kRounding = 1e-6;
  if (plan.arc >= needed - kRounding) return std::nullopt;
  return jobs::JobWarning{
      jobs::WarningKind::kShortArc, std::nullopt,
      absl::StrFormat("the arc is %.1f degrees; %.1f are needed for complete data at the edge of "
                      "the field of view",
                      RadiansToDegrees(plan.arc), RadiansToDegrees(needed))};
}

}  // namespace isocenter::pipeline
