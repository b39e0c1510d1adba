#include "kernels/physics/detector_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/physics/streams.h"

namespace isocenter::physics {
namespace {

absl::Status Check(absl::string_view name, double value, double least, double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("detector.", name, " is ", value, "; legal is ", least, " to ", most));
}

absl::Status CheckLag(const std::vector<DetectorModel::LagTerm>& lag) {
  ISO_RETURN_IF_ERROR(Check("lag: its number of terms", static_cast<double>(lag.size()), 0, 8));
  double sum = 0;
  for (const DetectorModel::LagTerm& term : lag) {
    ISO_RETURN_IF_ERROR(Check("lag.share", term.share, 0, 0.5));
    ISO_RETURN_IF_ERROR(Check("lag.release", term.release, 1e-6, 1));
    if (term.capacity_counts != 0) {
      ISO_RETURN_IF_ERROR(Check("lag.capacity_counts", term.capacity_counts, 1, 1e9));
    }
    sum += term.share;
  }
  return Check("lag: the sum of its shares", sum, 0, 0.9);
}

void MarkLine(phantom::Generator& draws, const Detector& detector,
              std::vector<PixelState>& states) {
  const bool row = draws.Uniform() < 0.5;
  const int count = row ? detector.rows : detector.columns;
  const size_t line = static_cast<size_t>(draws.Uniform() * count), columns = detector.columns;
  const size_t first = row ? line * columns : line, step = row ? 1 : columns;
  for (int i = 0; i < (row ? detector.columns : detector.rows); ++i) {
    states[first + i * step] = PixelState::kDead;
  }
}

void MarkCluster(phantom::Generator& draws, const Detector& detector, double radius,
                 std::vector<PixelState>& states) {
  const double u0 = draws.Uniform() * detector.columns, v0 = draws.Uniform() * detector.rows;
  for (int v = 0; v < detector.rows; ++v) {
    if (std::abs(v - v0) > radius) continue;
    for (int u = 0; u < detector.columns; ++u) {
      if (std::hypot(u - u0, v - v0) <= radius) {
        states[static_cast<size_t>(v) * detector.columns + u] = PixelState::kDead;
      }
    }
  }
}

}  // namespace

absl::Status ValidateDetectorModel(const DetectorModel& m) {
  ISO_RETURN_IF_ERROR(Check("signal_counts", m.signal_counts, 1, 65535));
  ISO_RETURN_IF_ERROR(Check("photons", m.photons, 0, 1e12));
  ISO_RETURN_IF_ERROR(Check("electronic_counts", m.electronic_counts, 0, 10000));
  ISO_RETURN_IF_ERROR(Check("saturation_counts", m.saturation_counts, 1, 65535));
  ISO_RETURN_IF_ERROR(Check("offset_counts", m.offset_counts, 0, 60000));
  ISO_RETURN_IF_ERROR(Check("offset_spread_counts", m.offset_spread_counts, 0, 10000));
  ISO_RETURN_IF_ERROR(Check("gain_spread", m.gain_spread, 0, 0.3));
  ISO_RETURN_IF_ERROR(Check("defective_pixels", m.defective_pixels, 0, 0.05));
  ISO_RETURN_IF_ERROR(Check("dead_lines", m.dead_lines, 0, 100));
  ISO_RETURN_IF_ERROR(Check("dead_clusters", m.dead_clusters, 0, 1000));
  ISO_RETURN_IF_ERROR(Check("cluster_radius_px", m.cluster_radius_px, 0.5, 20));
  ISO_RETURN_IF_ERROR(CheckLag(m.lag));
  ISO_RETURN_IF_ERROR(Check("glare_share", m.glare_share, 0, 0.5));
  ISO_RETURN_IF_ERROR(Check("glare_length_mm", m.glare_length_mm, 0.01, 100));
  ISO_RETURN_IF_ERROR(Check("dose", m.dose, 0.01, 100));
  ISO_RETURN_IF_ERROR(Check("dose_flicker", m.dose_flicker, 0, 0.2));
  return Check("dose_swing", m.dose_swing, 0, 0.2);
}

DetectorMaps MakeDetectorMaps(const DetectorModel& model, const Detector& detector) {
  const size_t pixels = static_cast<size_t>(detector.columns) * detector.rows;
  DetectorMaps maps;
  maps.offset_counts.resize(pixels);
  phantom::Generator offsets = GeneratorFor(model.seed, Draw::kOffset);
  for (double& offset : maps.offset_counts) {
    offset = std::max(0.0, model.offset_counts + model.offset_spread_counts * offsets.Normal());
  }
  maps.gain.resize(pixels);
  phantom::Generator gains = GeneratorFor(model.seed, Draw::kGain);
  for (double& gain : maps.gain) {
    gain = 1 + model.gain_spread * std::clamp(gains.Normal(), -3.0, 3.0);
  }
  maps.states.assign(pixels, PixelState::kGood);
  phantom::Generator defects = GeneratorFor(model.seed, Draw::kDefects);
  for (PixelState& state : maps.states) {
    const double draw = defects.Uniform();
    if (draw < model.defective_pixels) {
      state = draw < model.defective_pixels / 2 ? PixelState::kDead : PixelState::kHot;
    }
  }
  for (int i = 0; i < model.dead_lines; ++i) MarkLine(defects, detector, maps.states);
  for (int i = 0; i < model.dead_clusters; ++i) {
    MarkCluster(defects, detector, model.cluster_radius_px, maps.states);
  }
  return maps;
}

std::vector<double> FrameDoses(const DetectorModel& model, int frames) {
  phantom::Generator draws = GeneratorFor(model.scan_seed(), Draw::kDoses);
  std::vector<double> doses(frames);
  for (int k = 0; k < frames; ++k) {
    const double flicker = 1 + model.dose_flicker * (2 * draws.Uniform() - 1);
    doses[k] = model.dose * flicker * (1 + model.dose_swing * std::sin(2 * kPi * k / frames));
  }
  return doses;
}

}  // namespace isocenter::physics
