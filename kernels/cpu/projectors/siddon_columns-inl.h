// Siddon's lengths for all rays of a detector column at once, where they share their way through x
// and y (shared_path.h): column of voxels by column of voxels, in each of which a ray meets one
// voxel or two. Thompson & Lionheart (MIMS EPrint 2016.48, 2014), with vectors in place of warps.
// Included once per target by Highway's foreach_target, for targets that can permute across a
// register (AVX2, AVX-512).
//
// z is counted in voxels from the grid's lowest face. Ray v is at z = source + w·(d + v·dv).

#if defined(ISOCENTER_KERNELS_CPU_SIDDON_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_SIDDON_COLUMNS_INL_H_
#undef ISOCENTER_KERNELS_CPU_SIDDON_COLUMNS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_SIDDON_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <vector>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/projectors/project_job.h"
#include "kernels/cpu/projectors/shared_path.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

// Values that two registers hold side by side.
inline constexpr int kTable = 2 * kLanes;

struct Table {
  V low, high;
  HWY_INLINE explicit Table(const float* from)
      : low(hn::LoadU(D(), from)), high(hn::LoadU(D(), from + kLanes)) {}
  // Indices from 0 to kTable - 1.
  HWY_INLINE V At(VI index) const {
#if HWY_TARGET == HWY_AVX3
    return V{_mm512_permutex2var_ps(low.raw, index.raw, high.raw)};
#else
    const __m256 lower = _mm256_permutevar8x32_ps(low.raw, index.raw);
    const __m256 upper = _mm256_permutevar8x32_ps(high.raw, index.raw);
    const __m256i choice = _mm256_slli_epi32(index.raw, 28);  // of the register: bit 3 to the sign
    return V{_mm256_blendv_ps(lower, upper, _mm256_castsi256_ps(choice))};
#endif
  }
};

// A detector column's rays along z.
struct UprightRays {
  double source, d, dv;
  double at(double w, double row) const { return source + w * (d + row * dv); }
};

inline UprightRays UprightRaysOf(const RayView& view, int u) {
  return {view.source[2] + 0.5, view.d0[2] + u * view.du[2], view.dv[2]};
}

// w per voxel along z, of directions along z.
HWY_INLINE V PerStep(V direction) {
  const D d;
  return hn::Div(hn::Set(d, 1.0f), hn::Max(hn::Abs(direction), hn::Set(d, 1e-20f)));
}

// Millimetres per w of kLanes rays, `lane` rows from row `middle`.
HWY_INLINE V Millimetres(const RayView& view, int u, double middle, V lane) {
  const D d;
  V square = hn::Zero(d);
  for (int i = 0; i < 3; ++i) {
    const double component = view.world0[i] + u * view.world_u[i] + middle * view.world_v[i];
    const V along = hn::MulAdd(lane, hn::Set(d, static_cast<float>(view.world_v[i])),
                               hn::Set(d, static_cast<float>(component)));
    square = hn::MulAdd(along, along, square);
  }
  return hn::Sqrt(square);
}

// Rows from the middle of kLanes ones.
inline constexpr double kHalf = 0.5 * (kLanes - 1);
HWY_INLINE V FromMiddle() {
  const D d;
  return hn::Sub(hn::Iota(d, 0.0f), hn::Set(d, static_cast<float>(kHalf)));
}

// Forward. ---------------------------------------------------------------------------------------

// The rays of kLanes rows, the middle one's position in double.
struct RowGroup {
  double source, d, dv;  // d: of the middle
  V lane, per_d;
};

HWY_INLINE RowGroup GroupAt(const UprightRays& rays, int first_row) {
  const D d;
  const double middle = rays.d + (first_row + kHalf) * rays.dv;
  const V lane = FromMiddle();
  const V direction = hn::MulAdd(lane, hn::Set(d, static_cast<float>(rays.dv)),
                                 hn::Set(d, static_cast<float>(middle)));
  return {rays.source, middle, rays.dv, lane, PerStep(direction)};
}

// The segments of a detector column as its groups of rows need them.
struct Segments {
  std::vector<PathSegment> list;
  std::vector<float> from, to, length;  // w times rows along z, twice; w
  // Of the group that is worked on: the voxel that its positions count from, and the positions of
  // its middle at both ends.
  std::vector<int32_t> base;
  std::vector<float> at_from, at_to;

  void SetColumn(double dv) {
    const size_t count = list.size();
    for (auto* values : {&from, &to, &length, &at_from, &at_to}) values->resize(count);
    base.resize(count);
    for (size_t i = 0; i < count; ++i) {
      from[i] = static_cast<float>(list[i].from * dv);
      to[i] = static_cast<float>(list[i].to * dv);
      length[i] = static_cast<float>(list[i].to - list[i].from);
    }
  }
  // False: some row may leave the grid, and bases are held within it.
  bool SetGroup(const RowGroup& group, int nz, int last_base) {
    const double spread = list.back().to * std::abs(group.dv) * kHalf + 1e-3;  // and rounding
    double least = nz, most = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const double one = group.source + list[i].from * group.d;
      const double other = group.source + list[i].to * group.d;
      const double low = std::min(one, other) - spread;
      least = std::min(least, low);
      most = std::max(most, std::max(one, other) + spread);
      base[i] = std::clamp(static_cast<int32_t>(std::floor(low)), 0, last_base);
      at_from[i] = static_cast<float>(one - base[i]);
      at_to[i] = static_cast<float>(other - base[i]);
    }
    return least >= 0 && most < nz - 1;
  }
};

// Adds what the rays see in a column of voxels. kEdge: some ray may be outside of the grid.
template <bool kEdge>
HWY_INLINE V AddSegment(const RowGroup& group, const Segments& segments, size_t i,
                        const float* column, int nz, V sum) {
  const D d;
  const DI di;
  const V lower =
      hn::Min(hn::MulAdd(hn::Set(d, segments.from[i]), group.lane, hn::Set(d, segments.at_from[i])),
              hn::MulAdd(hn::Set(d, segments.to[i]), group.lane, hn::Set(d, segments.at_to[i])));
  const V one = hn::Set(d, 1.0f), whole = hn::Floor(lower);
  const V length = hn::Set(d, segments.length[i]);
  const V in_lower = hn::Min(hn::Mul(hn::Sub(hn::Add(whole, one), lower), group.per_d), length);
  const int base = segments.base[i];
  const Table table(column + base);
  V below, above;
  if constexpr (kEdge) {
    const VI index = hn::ConvertTo(di, whole), last = hn::Set(di, kTable - 1);
    below = table.At(hn::And(index, last));
    above = table.At(hn::And(hn::Add(index, hn::Set(di, 1)), last));
    const V least = hn::Set(d, static_cast<float>(-base));
    const V most = hn::Set(d, static_cast<float>(nz - 1 - base));
    const auto inside = [&](V voxel)
                            HWY_ATTR { return hn::And(hn::Ge(voxel, least), hn::Le(voxel, most)); };
    below = hn::IfThenElseZero(inside(whole), below);
    above = hn::IfThenElseZero(inside(hn::Add(whole, one)), above);
  } else {
    const VI index = WholePart(lower);
    below = table.At(index);
    above = table.At(hn::Add(index, hn::Set(di, 1)));
  }
  return hn::MulAdd(in_lower, hn::Sub(below, above), hn::MulAdd(length, above, sum));
}

template <bool kEdge>
HWY_INLINE V SumOfSegments(const RowGroup& group, const Segments& segments,
                           const VolumeShape& volume, const float* voxels) {
  // Of the next rows, which see what lies behind.
  const int next = group.dv < 0 ? -kLanes : 2 * kLanes;
  V sum = hn::Zero(D());
  for (size_t i = 0; i < segments.list.size(); ++i) {
    const float* column = voxels + segments.list[i].offset;
    hwy::Prefetch(column + segments.base[i] + next);
    sum = AddSegment<kEdge>(group, segments, i, column, volume.size[2], sum);
  }
  return sum;
}

// What the group's rows see of the segments, in w times attenuation.
HWY_INLINE V SumOfGroup(const RowGroup& group, Segments& segments, const VolumeShape& volume,
                        const float* voxels) {
  const int last_base = static_cast<int>(volume.stride[0]) - kTable;
  return segments.SetGroup(group, volume.size[2], last_base)
             ? SumOfSegments<false>(group, segments, volume, voxels)
             : SumOfSegments<true>(group, segments, volume, voxels);
}

/// Adds the planes [first, last) of the heading's axis to a detector column. False: it was left
/// undone, since rays lie too far apart for two registers.
HWY_INLINE bool AddSharedColumn(const ForwardJob& job, const RayView& view, int u, Heading heading,
                                int first, int last, Segments& segments) {
  const D d;
  if (job.volume.stride[0] < kTable) return false;
  FindSegments(view, u, job.volume, heading.axis, first, last, segments.list);
  if (segments.list.empty()) return true;
  const UprightRays rays = UprightRaysOf(view, u);
  if (!(segments.list.back().to * std::abs(rays.dv) * (kLanes - 1) < kTable - 5)) return false;
  segments.SetColumn(rays.dv);
  float* pixels = job.stack + view.image + u * view.stride;
  for (int row = 0; row < view.rows; row += kLanes) {
    const RowGroup group = GroupAt(rays, row);
    const V sum = hn::Mul(SumOfGroup(group, segments, job.volume, job.voxels),
                          Millimetres(view, u, row + kHalf, group.lane));
    HWY_ALIGN_MAX float sums[kLanes];
    hn::Store(sum, d, sums);
    const int rows = std::min(kLanes, view.rows - row);
    for (int i = 0; i < rows; ++i) pixels[row + i] += sums[i];
  }
  return true;
}

// Back. ------------------------------------------------------------------------------------------

// The pixels of a detector column in the order of z, in millimetres per w, with zeros around that
// tables may reach into.
struct UprightPixels {
  static constexpr int kMargin = kTable + 2;
  std::vector<float> value, per_d;
  UprightRays rays;  // in that order
  int rows = 0;

  const float* value_at(int row) const { return value.data() + kMargin + row; }
  const float* per_d_at(int row) const { return per_d.data() + kMargin + row; }
};

HWY_INLINE void Fill(const RayView& view, int u, const float* stack, UprightPixels& pixels) {
  const UprightRays rays = UprightRaysOf(view, u);
  const bool turned = rays.dv < 0;
  pixels.rows = view.rows;
  pixels.rays =
      turned ? UprightRays{rays.source, rays.d + (view.rows - 1) * rays.dv, -rays.dv} : rays;
  pixels.value.assign(view.rows + 2 * UprightPixels::kMargin, 0);
  pixels.per_d.assign(view.rows + 2 * UprightPixels::kMargin, 0);
  const D d;
  const float* column = stack + view.image + u * view.stride;
  for (int row = 0; row < view.rows; row += kLanes) {
    const RowGroup group = GroupAt(rays, row);
    HWY_ALIGN_MAX float values[kLanes], per_d[kLanes];
    // Behind the last row there are zeros.
    hn::Store(hn::Mul(hn::LoadU(d, column + row), Millimetres(view, u, row + kHalf, group.lane)), d,
              values);
    hn::Store(group.per_d, d, per_d);
    for (int i = 0; i < std::min(kLanes, view.rows - row); ++i) {
      const int to = UprightPixels::kMargin + (turned ? view.rows - 1 - row - i : row + i);
      pixels.value[to] = values[i];
      pixels.per_d[to] = per_d[i];
    }
  }
}

// Where the rays are at the two ends of a segment: row r at offset + r·step.
struct Ends {
  double offset[2], step[2], per_step[2];
  // Rows below which no ray comes above z, and from which on none is below it.
  double least(double z) const {
    return std::min((z - offset[0]) * per_step[0], (z - offset[1]) * per_step[1]);
  }
  double most(double z) const {
    return std::max((z - offset[0]) * per_step[0], (z - offset[1]) * per_step[1]);
  }
};

inline Ends EndsOfSegment(const UprightRays& rays, const PathSegment& segment) {
  Ends ends;
  const double w[] = {segment.from, segment.to};
  for (int i = 0; i < 2; ++i) {
    ends.offset[i] = rays.at(w[i], 0);
    ends.step[i] = w[i] * rays.dv;
    ends.per_step[i] = 1 / ends.step[i];
  }
  return ends;
}

// Rounding of rows.
inline constexpr double kRowSlack = 1e-3;

// Adds to kLanes voxels of a column, from `first` on, what the rays give to them: no voxel is met
// by more than `count` of them, one after the other.
HWY_INLINE void AddToVoxels(const UprightPixels& pixels, const Ends& ends, float length, int count,
                            int first, float* column) {
  const D d;
  const DI di;
  const double least = ends.least(first) - kRowSlack;
  // Rows count from this one.
  const int row = std::clamp(static_cast<int>(std::floor(least)), -UprightPixels::kMargin,
                             pixels.rows + UprightPixels::kMargin - kTable);
  const Table values(pixels.value_at(row)), per_ds(pixels.per_d_at(row));
  const V one = hn::Set(d, 1.0f), voxel = hn::Iota(d, 0.0f), next = hn::Add(voxel, one);
  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  // The first row that each voxel may be met by.
  const auto row_of = [&](int end) HWY_ATTR {
    return hn::MulAdd(voxel, set(ends.per_step[end]),
                      set((first - ends.offset[end]) * ends.per_step[end] - row - kRowSlack));
  };
  const V at = hn::Ceil(hn::Min(row_of(0), row_of(1)));
  const V step0 = set(ends.step[0]), step1 = set(ends.step[1]);
  V lower0 = hn::MulAdd(at, step0, set(ends.offset[0] + row * ends.step[0] - first));
  V lower1 = hn::MulAdd(at, step1, set(ends.offset[1] + row * ends.step[1] - first));
  VI index = hn::ConvertTo(di, at);
  const V whole = hn::Set(d, length), zero = hn::Zero(d);
  const VI last = hn::Set(di, kTable - 1), further = hn::Set(di, 1);
  V sum = hn::LoadU(d, column + first);
  for (int i = 0; i < count; ++i) {
    const VI entry = hn::And(index, last);
    const V per_d = per_ds.At(entry), lower = hn::Min(lower0, lower1);
    // w that the ray has come below a face, from none to all.
    const auto below = [&](V face) HWY_ATTR {
      return hn::Min(hn::Max(hn::Mul(hn::Sub(face, lower), per_d), zero), whole);
    };
    sum = hn::MulAdd(values.At(entry), hn::Sub(below(next), below(voxel)), sum);
    lower0 = hn::Add(lower0, step0);
    lower1 = hn::Add(lower1, step1);
    index = hn::Add(index, further);
  }
  hn::StoreU(sum, d, column + first);
}

// Adds all rays of a detector column to a column of voxels. `next`: the column that comes after it.
HWY_INLINE void AddToVoxelColumn(const UprightPixels& pixels, const PathSegment& segment, int nz,
                                 float* column, const float* next) {
  const UprightRays& rays = pixels.rays;
  const Ends ends = EndsOfSegment(rays, segment);
  const double last_row = pixels.rows - 1;
  const double low = std::min(ends.offset[0], ends.offset[1]);
  const double high = std::max(rays.at(segment.from, last_row), rays.at(segment.to, last_row));
  if (high <= 0 || low >= nz) return;
  // Whole registers: what lies behind the grid's last voxel is padding.
  const int begin = std::max(0, static_cast<int>(std::floor(low))) / kLanes * kLanes;
  const int end = std::min(nz, static_cast<int>(std::ceil(high)) + 1);
  // What lies between the two is widest at one of the ends.
  const double widest = std::max(ends.most(begin + 1) - ends.least(begin),
                                 ends.most(end + kLanes) - ends.least(end + kLanes - 1));
  const int count = static_cast<int>(std::floor(widest + 2 * kRowSlack)) + 1;
  for (int z = begin; z < end; z += kLanes) {
    hwy::Prefetch(next + z);
    AddToVoxels(pixels, ends, static_cast<float>(segment.to - segment.from), count, z, column);
  }
}

/// Adds the pixels of a detector column to the planes of the job. False: it was left undone, since
/// rays lie too close or the source is among the voxels.
HWY_INLINE bool ScatterSharedColumn(const ScatterJob& job, const RayView& view, int u,
                                    std::vector<PathSegment>& segments, UprightPixels& pixels) {
  if (job.volume.stride[0] < kTable) return false;
  FindSegments(view, u, job.volume, job.axis, job.first_plane, job.last_plane, segments);
  if (segments.empty()) return true;
  // Rows per voxel, of which a block of voxels and what overlaps it must fit the table.
  const double closest = segments.front().from * std::abs(view.dv[2]);
  if (!(closest > 0 && (kLanes + 1) / closest + 4 < kTable)) return false;
  Fill(view, u, job.stack, pixels);
  for (size_t i = 0; i < segments.size(); ++i) {
    const PathSegment& next = segments[std::min(i + 1, segments.size() - 1)];
    AddToVoxelColumn(pixels, segments[i], job.volume.size[2], job.voxels + segments[i].offset,
                     job.voxels + next.offset);
  }
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX3 or AVX2
#endif  // per-target include guard
