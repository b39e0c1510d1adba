#include "kernels/calibrate/defects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/local_median.h"

namespace isocenter::calibrate {
namespace {

constexpr double kHotShare = 0.5;  // of the level
constexpr double kLeastAnswer = 0.5, kMostAnswer = 1.5;
// Three times the noise, nine times the variance: five frames of a good pixel reach it less than
// once in 10^6 pixels.
constexpr double kNoisy = 3;
constexpr double kRoundingCounts = 0.29;  // what rounding to whole counts adds, 1/√12
// A change of the answer that is more than noise, and more than temperature does to good pixels.
constexpr double kChangeSigmas = 7, kLeastChange = 0.01;
constexpr double kLineShare = 0.5;  // of a line that is defective as a whole
constexpr int kEnclosing = 5;       // of eight neighbours

std::vector<float> MapOf(size_t pixels, const std::function<double(size_t)>& value) {
  std::vector<float> map(pixels);
  for (size_t i = 0; i < pixels; ++i) map[i] = static_cast<float>(value(i));
  return map;
}

/// One quantity of each pixel and what is usual for it.
struct Compared {
  std::vector<float> value, usual;
  Compared(size_t pixels, const Detector& detector, const std::function<double(size_t)>& of)
      : value(MapOf(pixels, of)), usual(LocalMedian(value, detector)) {}
};

void MarkSingle(const SweepStatistics& dark, const SweepStatistics& flat, double level,
                const Detector& detector, std::vector<Defect>& kinds) {
  const size_t pixels = kinds.size();
  const auto mark = [&](Defect kind, const std::function<bool(size_t)>& is) {
    for (size_t i = 0; i < pixels; ++i) {
      if (kinds[i] == Defect::kNone && is(i)) kinds[i] = kind;
    }
  };
  {
    const Compared offset(pixels, detector, [&](size_t i) { return dark.Mean(i); });
    mark(Defect::kHot,
         [&](size_t i) { return offset.value[i] - offset.usual[i] > kHotShare * level; });
  }
  {
    const Compared answer(pixels, detector, [&](size_t i) { return flat.Mean(i); });
    mark(Defect::kDead, [&](size_t i) {
      const double relative = answer.value[i] / answer.usual[i];
      return !(relative >= kLeastAnswer && relative <= kMostAnswer);
    });
  }
  {
    const Compared noise(pixels, detector, [&](size_t i) { return dark.TrimmedSigma(i); });
    mark(Defect::kNoisy, [&](size_t i) {
      return noise.value[i] > kNoisy * std::hypot(noise.usual[i], kRoundingCounts);
    });
  }
  const Compared noise(pixels, detector, [&](size_t i) { return flat.TrimmedSigma(i); });
  mark(Defect::kNoisy, [&](size_t i) {
    return noise.value[i] > kNoisy * std::hypot(noise.usual[i], kRoundingCounts / level);
  });
  const Compared sigma(pixels, detector, [&](size_t i) { return flat.Sigma(i); });
  const double of_halves = 2 / std::sqrt(static_cast<double>(flat.frames()));
  mark(Defect::kUnstable, [&](size_t i) {
    return std::abs(flat.Change(i)) >
           std::max(kLeastChange, kChangeSigmas * of_halves * sigma.usual[i]);
  });
}

/// A line that is mostly defective is read out wrongly as a whole. Lines crossing it do not count.
/// Returns how many there are.
int MarkLines(const Detector& detector, std::vector<Defect>& kinds) {
  const std::vector<Defect> before = kinds;
  int lines = 0;
  const auto mark = [&](size_t first, size_t step, int pixels) {
    int defective = 0;
    for (int i = 0; i < pixels; ++i) defective += before[first + i * step] != Defect::kNone;
    if (defective < kLineShare * pixels) return;
    ++lines;
    for (int i = 0; i < pixels; ++i) {
      Defect& kind = kinds[first + i * step];
      if (kind == Defect::kNone) kind = Defect::kEnclosed;
    }
  };
  for (int v = 0; v < detector.rows; ++v) mark(size_t(v) * detector.columns, 1, detector.columns);
  for (int u = 0; u < detector.columns; ++u) mark(u, detector.columns, detector.rows);
  return lines;
}

void MarkEnclosed(const Detector& detector, std::vector<Defect>& kinds) {
  const std::vector<Defect> before = kinds;
  for (int v = 1; v + 1 < detector.rows; ++v) {
    for (int u = 1; u + 1 < detector.columns; ++u) {
      const size_t i = size_t(v) * detector.columns + u;
      if (before[i] != Defect::kNone) continue;
      int around = 0;
      for (int dv = -1; dv <= 1; ++dv) {
        for (int du = -1; du <= 1; ++du) {
          around += before[i + dv * detector.columns + du] != Defect::kNone;
        }
      }
      if (around >= kEnclosing) kinds[i] = Defect::kEnclosed;
    }
  }
}

}  // namespace

absl::StatusOr<FoundDefects> FindDefects(const SweepStatistics& dark, const SweepStatistics& flat,
                                         double level, const Detector& detector) {
  FoundDefects found;
  found.kinds.assign(dark.pixels(), Defect::kNone);
  MarkSingle(dark, flat, level, detector, found.kinds);
  std::array<int64_t, kDefectKinds> count{};
  const int lines = MarkLines(detector, found.kinds);
  MarkEnclosed(detector, found.kinds);
  for (size_t i = 0; i < found.kinds.size(); ++i) {
    ++count[static_cast<size_t>(found.kinds[i])];
    if (found.kinds[i] != Defect::kNone) found.map.pixels.push_back(static_cast<int32_t>(i));
  }
  const auto of = [&](Defect kind) {
    return static_cast<double>(count[static_cast<size_t>(kind)]);
  };
  const Figure share{"defective pixels",
                     100.0 * static_cast<double>(found.map.pixels.size()) /
                         static_cast<double>(found.kinds.size()),
                     "%", AtMost(kMostDefectivePercent)};
  found.figures = {share,
                   {"dead pixels", of(Defect::kDead), ""},
                   {"hot pixels", of(Defect::kHot), ""},
                   {"noisy pixels", of(Defect::kNoisy), ""},
                   {"unstable pixels", of(Defect::kUnstable), ""},
                   {"pixels within defects", of(Defect::kEnclosed), ""},
                   {"defective lines", static_cast<double>(lines), ""}};
  if (share.value > kMostDefectivePercent) {
    return NotGoodEnough(
        share, absl::StrCat("at most ", kMostDefectivePercent, " %"),
        absl::StrFormat("%.0f dead (or saturated in the flat frames), %.0f hot, %.0f noisy, %.0f "
                        "unstable; the sweeps or the detector are not in order",
                        of(Defect::kDead), of(Defect::kHot), of(Defect::kNoisy),
                        of(Defect::kUnstable)));
  }
  ISO_RETURN_IF_ERROR(ops::CheckDefectMap(found.map, detector));
  return found;
}

}  // namespace isocenter::calibrate
