#include "kernels/recon/completeness/hounsfield_levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"
#include "kernels/recon/completeness/decadic_logarithm.h"

namespace isocenter::recon {
namespace {

constexpr int64_t kMostRows = 10'000;  // of the volume, evenly
constexpr float kAirBelow = -700, kObjectAbove = -500;
constexpr double kLeastAir = 0.05, kLeastObject = 0.01;  // of the volume
constexpr int64_t kLeastVoxels = 10'000;  // of the object; of fewer, edges make the mode
constexpr double kOutside = 0.2;          // of the object, at either end of the middle
// Nothing of a patient but metal is as dense, of which no object is half made: few voxels tell.
constexpr float kDensestHu = 3000;
constexpr double kMostDense = 0.5;
constexpr int64_t kLeastOfDense = 1'000;
// Line integrals that are a tenth of what they should be (a unit where none is) leave soft tissue
// 100 HU above air. As many voxels below air would be noise; of a few dense ones there may be
// metal.
constexpr float kFaintAbove = -970, kFaintBelow = -1030;
constexpr int64_t kFaintTimes = 5;
constexpr double kMostObjectOfFaint = 0.02;
constexpr double kTissueFrom = -150, kTissueTo = 150, kMiddleTo = 300;
constexpr double kAirFrom = -1100, kAirTo = -900;
// Lungs in a corner of the grid are not at all of its sides.
constexpr double kAirOfSide = 0.5, kAroundAir = 50;

/// How often values are, and what they are most often.
class Histogram {
 public:
  Histogram(double from, double to)
      : from_(from), counts_(static_cast<size_t>((to - from) / kBin)) {}

  void Add(float hu) {
    const double bin = (hu - from_) / kBin;
    if (!(bin >= 0 && bin < static_cast<double>(counts_.size()))) return;
    ++counts_[static_cast<size_t>(bin)];
  }
  /// The middle of the 100 HU that hold most; nothing where that is at an end: the rest of another
  /// peak.
  std::optional<double> Mode() const {
    int64_t most = 0;
    int best = -1;
    const int bins = static_cast<int>(counts_.size());
    for (int first = 0; first + kBins <= bins; ++first) {
      int64_t sum = 0;
      for (int i = 0; i < kBins; ++i) sum += counts_[first + i];
      if (sum <= most) continue;
      most = sum;
      best = first;
    }
    if (best <= 0 || best + kBins >= bins) return std::nullopt;
    return from_ + kBin * (best + 0.5 * kBins);
  }

 private:
  static constexpr double kBin = 20;
  static constexpr int kBins = 5;
  double from_;
  std::vector<int64_t> counts_;
};

Histogram TissueHistogram() { return {kObjectAbove, 6000}; }
Histogram AirHistogram() { return {-2500, kAirBelow + 100}; }

/// Visits rows, evenly chosen: `visit(y, z)`.
template <class Visit>
void ForEachRow(Shape3 shape, const Visit& visit) {
  const int64_t rows = shape.slow * shape.middle;
  const int64_t step = std::max<int64_t>(1, rows / kMostRows);
  for (int64_t row = 0; row < rows; row += step) visit(row % shape.middle, row / shape.middle);
}

/// Visits voxels of such rows of which `is_object(hu)` is true, as it is of their six neighbours,
/// so that none is half air: `visit(hu, x, y, z)`.
template <class IsObject, class Visit>
void ForEachWithin(HostView3<const float> hounsfield, const IsObject& is_object,
                   const Visit& visit) {
  const Shape3 shape = hounsfield.shape();
  ForEachRow(shape, [&](int64_t y, int64_t z) {
    if (y == 0 || z == 0 || y == shape.middle - 1 || z == shape.slow - 1) return;
    const float* row = hounsfield.row(z, y);
    const float* beside[] = {hounsfield.row(z, y - 1), hounsfield.row(z, y + 1),
                             hounsfield.row(z - 1, y), hounsfield.row(z + 1, y)};
    for (int64_t x = 1; x + 1 < shape.fast; ++x) {
      bool inside = is_object(row[x - 1]) && is_object(row[x]) && is_object(row[x + 1]);
      for (const float* other : beside) inside = inside && is_object(other[x]);
      if (inside) visit(row[x], x, y, z);
    }
  });
}

template <class Visit>
void ForEachOfObject(HostView3<const float> hounsfield, const Visit& visit) {
  ForEachWithin(
      hounsfield, [](float hu) { return hu > kObjectAbove; }, visit);
}

/// Where the middle part of what is counted along an axis begins and ends.
struct Middle {
  explicit Middle(const std::vector<int64_t>& along) {
    int64_t total = 0, sum = 0;
    for (const int64_t count : along) total += count;
    for (size_t i = 0; i < along.size(); ++i) {
      const int64_t before = sum;
      sum += along[i];
      const double limit = kOutside * static_cast<double>(total);
      if (static_cast<double>(before) <= limit) first = static_cast<int64_t>(i);
      if (static_cast<double>(before) < static_cast<double>(total) - limit) {
        last = static_cast<int64_t>(i);
      }
    }
  }
  bool Has(int64_t i) const { return i >= first && i <= last; }
  int64_t first = 0, last = 0;
};

struct Levels {
  Histogram tissue = TissueHistogram(), air = AirHistogram();
  int64_t voxels = 0, object = 0, of_air = 0, dense = 0;
  std::array<std::vector<int64_t>, 3> along;  // of the object: x, y, z
};

Levels LevelsOf(HostView3<const float> hounsfield) {
  const Shape3 shape = hounsfield.shape();
  Levels levels;
  levels.along = {std::vector<int64_t>(shape.fast), std::vector<int64_t>(shape.middle),
                  std::vector<int64_t>(shape.slow)};
  ForEachRow(shape, [&](int64_t y, int64_t z) {
    for (const float hu : std::span(hounsfield.row(z, y), shape.fast)) {
      ++levels.voxels;
      levels.of_air += hu < kAirBelow;
      levels.air.Add(hu);
    }
  });
  ForEachOfObject(hounsfield, [&](float hu, int64_t x, int64_t y, int64_t z) {
    ++levels.object;
    levels.dense += hu > kDensestHu;
    ++levels.along[0][x];
    ++levels.along[1][y];
    ++levels.along[2][z];
    levels.tissue.Add(hu);
  });
  return levels;
}

std::optional<double> MiddleMode(HostView3<const float> hounsfield, const Levels& levels) {
  const Middle x(levels.along[0]), y(levels.along[1]), z(levels.along[2]);
  Histogram middle = TissueHistogram();
  ForEachOfObject(hounsfield, [&](float hu, int64_t i, int64_t j, int64_t k) {
    if (x.Has(i) && y.Has(j) && z.Has(k)) middle.Add(hu);
  });
  return middle.Mode();
}

/// Whether at least half of what each of the grid's four upright sides has is about as dense.
bool IsAround(HostView3<const float> hounsfield, double air) {
  const Shape3 shape = hounsfield.shape();
  std::array<int64_t, 4> near{};
  const auto is_near = [&](float hu) { return std::abs(hu - air) < kAroundAir; };
  for (int64_t z = 0; z < shape.slow; ++z) {
    for (int64_t x = 0; x < shape.fast; ++x) {
      near[0] += is_near(hounsfield.row(z, 0)[x]);
      near[1] += is_near(hounsfield.row(z, shape.middle - 1)[x]);
    }
    for (int64_t y = 0; y < shape.middle; ++y) {
      near[2] += is_near(hounsfield.row(z, y)[0]);
      near[3] += is_near(hounsfield.row(z, y)[shape.fast - 1]);
    }
  }
  const auto most_of = [&](int64_t of_side, int64_t voxels) {
    return static_cast<double>(of_side) > kAirOfSide * static_cast<double>(voxels);
  };
  const int64_t along_x = shape.slow * shape.fast, along_y = shape.slow * shape.middle;
  return most_of(near[0], along_x) && most_of(near[1], along_x) && most_of(near[2], along_y) &&
         most_of(near[3], along_y);
}

constexpr char kCauses[] =
    "Look at the matrices (source-isocentre and source-detector distance), the pixel pitch, "
    "i0_counts or the calibration's air, its table of HU and the water it is relative to, the "
    "scatter that is taken off, and rows that the detector cuts";

std::string TissueText(const char* where, double mode, double most) {
  return absl::StrFormat(
      "soft tissue lies about %+.0f HU: what is no air%s has that value most often; legal is %.0f "
      "to %.0f. %s; or is the object of another material than tissue, water or acrylic glass?",
      mode, where, kTissueFrom, most, kCauses);
}

std::optional<std::string> DenseText(const Levels& levels) {
  if (levels.object < kLeastOfDense) return std::nullopt;
  const double dense = static_cast<double>(levels.dense) / static_cast<double>(levels.object);
  if (dense <= kMostDense) return std::nullopt;
  return absl::StrFormat(
      "%s of what is no air is above %g HU, which of a patient metal alone is; legal is up to "
      "half. %s. Are line integrals in another unit (natural logarithms of a ratio have none), or "
      "multiplied?",
      ShareText(dense), kDensestHu, kCauses);
}

/// Of line integrals alone: counts say by their air what they are relative to.
std::optional<std::string> FaintText(HostView3<const float> hounsfield, const Levels& levels) {
  const auto object = static_cast<double>(levels.object);
  if (object > kMostObjectOfFaint * static_cast<double>(levels.voxels)) return std::nullopt;
  int64_t faint = 0, below_air = 0;
  double sum = 0;
  ForEachWithin(
      hounsfield, [](float hu) { return hu > kFaintAbove; },
      [&](float hu, int64_t, int64_t, int64_t) {
        ++faint;
        sum += hu;
      });
  ForEachWithin(
      hounsfield, [](float hu) { return hu < kFaintBelow; },
      [&](float, int64_t, int64_t, int64_t) { ++below_air; });
  const auto count = static_cast<double>(faint);
  if (faint < kLeastVoxels || count < kLeastObject * static_cast<double>(levels.voxels) ||
      faint < kFaintTimes * below_air || object > kMostObjectOfFaint * count) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "what is no air lies about %+.0f HU, and hardly anything is above %g HU; of a patient legal "
      "is soft tissue of %.0f to %.0f. Are line integrals in another unit (natural logarithms of a "
      "ratio have none), or divided; or is the object foam?",
      sum / count, kObjectAbove, kTissueFrom, kTissueTo);
}

}  // namespace

std::optional<std::string> ImplausibleHounsfieldText(HostView3<const float> hounsfield,
                                                     PixelType type) {
  const Levels levels = LevelsOf(hounsfield);
  const auto share = [&](int64_t part) {
    return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, levels.voxels));
  };
  const bool has_air = share(levels.of_air) >= kLeastAir;
  if (auto dense = DenseText(levels); dense && has_air) return dense;
  if (auto decadic = DecadicLogarithmText(hounsfield, type)) return decadic;
  if (!has_air) return std::nullopt;
  if (type == PixelType::kFloat32LineIntegrals) {
    if (auto faint = FaintText(hounsfield, levels)) return faint;
  }
  const std::optional<double> air = levels.air.Mode();
  if (air && (*air < kAirFrom || (*air > kAirTo && IsAround(hounsfield, *air)))) {
    return absl::StrFormat(
        "air lies about %+.0f HU: what is below %.0f has that value most often; "
        "legal is %.0f to %.0f. %s",
        *air, kAirBelow, kAirFrom, kAirTo, kCauses);
  }
  if (share(levels.object) < kLeastObject || levels.object < kLeastVoxels) return std::nullopt;
  const std::optional<double> tissue = levels.tissue.Mode();
  if (!tissue) return std::nullopt;
  if (*tissue < kTissueFrom || *tissue > kTissueTo) return TissueText("", *tissue, kTissueTo);
  const std::optional<double> middle = MiddleMode(hounsfield, levels);
  if (middle && (*middle < kTissueFrom || *middle > kMiddleTo)) {
    return TissueText(" in its middle", *middle, kMiddleTo);
  }
  return std::nullopt;
}

}  // namespace isocenter::recon
