#include "kernels/recon/iterative/subsets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

unsigned ReversedBits(unsigned value, int bits) {
  unsigned reversed = 0;
  for (int bit = 0; bit < bits; ++bit) reversed |= ((value >> bit) & 1u) << (bits - 1 - bit);
  return reversed;
}

}  // namespace

std::vector<int> BitReversedOrder(int count) {
  int bits = 0;
  while ((1 << bits) < count) ++bits;
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [bits](int a, int b) { return ReversedBits(a, bits) < ReversedBits(b, bits); });
  return order;
}

int DefaultSubsets(Algorithm algorithm, int views) {
  // Fewer views than these in a subset are too few to tell where a difference lies.
  constexpr int kViewsOfSubset = 12;
  // OS-SQS corrects what subsets disagree about, and has momentum to settle with every step.
  constexpr int kViewsOfCorrectedSubset = 6;
  constexpr int kMostSubsets = 24;
  switch (algorithm) {
    case Algorithm::kSart:
      return views;
    case Algorithm::kOsSqs:
      return std::clamp(views / kViewsOfCorrectedSubset, 1, kMostSubsets);
    case Algorithm::kOsSart:
    case Algorithm::kAsdPocs:
      return std::clamp(views / kViewsOfSubset, 1, kMostSubsets);
    default:
      return 1;
  }
}

std::optional<std::string> ManySubsetsText(Algorithm algorithm, int views, int subsets) {
  // Steps are as long as the subset's share of all views says, and what so few views lack of each
  // other makes them grow, or be refused (docs/adr/0135, 0153).
  constexpr int kLeastViewsOfSubset = 4;
  if (algorithm != Algorithm::kOsSqs || subsets <= 1) return std::nullopt;
  if (subsets * kLeastViewsOfSubset <= views) return std::nullopt;
  return absl::StrFormat(
      "iterative.subsets is %d, which leaves %.3g views of %d to each; good are at most %d (%d "
      "views in each), chosen without it %d: a step by fewer views than that may go astray, so "
      "that passes are refused, or the image is worse than with fewer subsets after as many",
      subsets, static_cast<double>(views) / subsets, views,
      std::max(1, views / kLeastViewsOfSubset), kLeastViewsOfSubset,
      DefaultSubsets(algorithm, views));
}

std::vector<std::vector<int>> MakeSubsets(int views, int subsets) {
  std::vector<std::vector<int>> made;
  for (const int first : BitReversedOrder(subsets)) {
    std::vector<int>& subset = made.emplace_back();
    for (int view = first; view < views; view += subsets) subset.push_back(view);
  }
  return made;
}

std::vector<int> EarlyFrames(int views, int passes) {
  constexpr double kFirstMissing = 1. / 2, kLastMissing = 1. / 32;
  std::vector<int> frames;
  for (int pass = 0; pass < passes; ++pass) {
    const double along = passes == 1 ? 0 : static_cast<double>(pass) / (passes - 1);
    const double missing = kFirstMissing * std::pow(kLastMissing / kFirstMissing, along);
    frames.push_back(std::max(1, static_cast<int>(std::lround(views * (1 - missing)))));
  }
  return frames;
}

std::vector<ViewChunk> ChunksOf(const std::vector<std::vector<int>>& subsets, int chunk_views) {
  std::vector<ViewChunk> chunks;
  for (size_t s = 0; s < subsets.size(); ++s) {
    const auto& views = subsets[s];
    const size_t count = (views.size() + chunk_views - 1) / chunk_views;
    for (size_t i = 0; i < count; ++i) {
      const size_t begin = views.size() * i / count, end = views.size() * (i + 1) / count;
      chunks.push_back({static_cast<int>(s), {views.begin() + begin, views.begin() + end}});
    }
  }
  return chunks;
}

bool BeginsSubset(const std::vector<ViewChunk>& chunks, int chunk) {
  return chunk == 0 || chunks[chunk - 1].subset != chunks[chunk].subset;
}

bool EndsSubset(const std::vector<ViewChunk>& chunks, int chunk) {
  return chunk + 1 == static_cast<int>(chunks.size()) || BeginsSubset(chunks, chunk + 1);
}

}  // namespace isocenter::recon
