#include "kernels/phantom/composite_phantom.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <utility>

namespace isocenter::phantom {
namespace {
constexpr int kMaxParts = 64;
}  // namespace

CompositePhantom::CompositePhantom(std::vector<Part> parts, Overlap overlap)
    : parts_(std::move(parts)), overlap_(overlap) {
  assert(parts_.size() <= kMaxParts);
}

double CompositePhantom::Attenuation(Vec3 point) const {
  double attenuation = 0;
  for (const Part& part : parts_) {
    if (!part.body.Contains(point)) continue;
    attenuation = part.attenuation + (overlap_ == Overlap::kAdd ? attenuation : 0);
  }
  return map_ ? map_(attenuation) : attenuation;
}

Box CompositePhantom::Bounds() const {
  if (parts_.empty()) return {};
  constexpr double kFar = std::numeric_limits<double>::max();
  Box all{{kFar, kFar, kFar}, {-kFar, -kFar, -kFar}};
  for (const Part& part : parts_) {
    const Vec3 half = part.body.HalfExtent();
    const Vec3 low = part.body.center() - half, high = part.body.center() + half;
    all.low = {std::min(all.low.x, low.x), std::min(all.low.y, low.y), std::min(all.low.z, low.z)};
    all.high = {std::max(all.high.x, high.x), std::max(all.high.y, high.y),
                std::max(all.high.z, high.z)};
  }
  return all;
}

std::unique_ptr<Phantom> CompositePhantom::Mapped(const std::function<double(double)>& map) const {
  auto mapped = std::make_unique<CompositePhantom>(*this);
  if (overlap_ == Overlap::kReplace) {
    for (Part& part : mapped->parts_) part.attenuation = map(part.attenuation);
  } else if (map_) {
    mapped->map_ = [first = map_, map](double sum) { return map(first(sum)); };
  } else {
    mapped->map_ = map;
  }
  return mapped;
}

double CompositePhantom::LineIntegral(Vec3 source, Vec3 direction) const {
  if (map_) return MappedIntegral(source, direction);
  return overlap_ == Overlap::kAdd ? AddedIntegral(source, direction)
                                   : ReplacedIntegral(source, direction);
}

double CompositePhantom::AddedIntegral(Vec3 source, Vec3 direction) const {
  double sum = 0;
  for (const Part& part : parts_) {
    const Interval inside = part.body.Intersect(source, direction);
    if (inside.end > inside.begin) sum += part.attenuation * (inside.end - inside.begin);
  }
  return sum;
}

// Between two borders of parts the sum is constant.
double CompositePhantom::MappedIntegral(Vec3 source, Vec3 direction) const {
  struct Border {
    double at, change;
  };
  std::array<Border, 2 * kMaxParts> borders;
  int count = 0;
  for (const Part& part : parts_) {
    const Interval inside = part.body.Intersect(source, direction);
    if (!(inside.end > inside.begin)) continue;
    borders[count++] = {inside.begin, part.attenuation};
    borders[count++] = {inside.end, -part.attenuation};
  }
  std::sort(borders.begin(), borders.begin() + count,
            [](const Border& a, const Border& b) { return a.at < b.at; });
  double integral = 0, sum = 0;
  for (int i = 0; i + 1 < count; ++i) {
    sum += borders[i].change;
    const double length = borders[i + 1].at - borders[i].at;
    if (length > 0) integral += map_(sum) * length;
  }
  return integral;
}

// From the last part to the first, each takes what the parts after it have left of its interval.
// What is taken already is kept as a sorted list of disjoint intervals.
double CompositePhantom::ReplacedIntegral(Vec3 source, Vec3 direction) const {
  std::array<Interval, kMaxParts> taken;
  int count = 0;
  double sum = 0;
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    Interval inside = part->body.Intersect(source, direction);
    if (!(inside.end > inside.begin)) continue;
    double length = inside.end - inside.begin;
    int first = 0;
    while (first < count && taken[first].end < inside.begin) ++first;
    int last = first;  // [first, last) touch the interval
    for (; last < count && taken[last].begin <= inside.end; ++last) {
      length -= std::max(
          0.0, std::min(inside.end, taken[last].end) - std::max(inside.begin, taken[last].begin));
    }
    sum += part->attenuation * length;
    // Merge: one interval in place of those it touches.
    if (last > first) {
      inside.begin = std::min(inside.begin, taken[first].begin);
      inside.end = std::max(inside.end, taken[last - 1].end);
      std::copy(taken.begin() + last, taken.begin() + count, taken.begin() + first + 1);
      count -= last - first - 1;
    } else {
      std::copy_backward(taken.begin() + first, taken.begin() + count, taken.begin() + count + 1);
      ++count;
    }
    taken[first] = inside;
  }
  return sum;
}

}  // namespace isocenter::phantom
