#include "kernels/recon/completeness/repeated_frames.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/median.h"

namespace isocenter::recon {
namespace {

// Levels of frames that differ by no more than this (of their mean) are those of an object that
// looks alike from everywhere, to within rounding.
constexpr double kAlike = 1e-4;
// Noise makes fourth differences along a row larger than second ones (for white noise by 3.4), the
// object's outline smaller. Rounding is noise, too: counts need this much more.
constexpr double kNoiseRatio = 1.5;
constexpr double kLeastCounts = 8, kLeastLines = 5e-3;  // median of fourth differences

// Halves of a row are unlike where more than a share of their pixels differ by more than this of
// the row's range, and by more than rounding. Where the axis lies between pixels or in the middle
// of one, each has its own mirror image, in which what is symmetric is the same but for rounding:
// a small insert on one side shows. Elsewhere what lies between pixels is not known.
constexpr double kUnlikePixel = 2e-4, kUnlikePixelShare = 0.005;
constexpr double kUnlike = 2e-3, kUnlikeShare = 0.02;
constexpr double kOnPixel = 1e-5;  // pixels
template <class T>
constexpr double kLeastUnlike = std::is_integral_v<T> ? 1.5 : 1e-5;

// Matrices that differ by less (of the largest element) are of one place, as after a full turn.
constexpr double kOnePlace = 1e-6;

// Every eighth pixel will do.
constexpr size_t kLevelStride = 8;

template <class T>
double LevelOf(std::span<const std::byte> pixels) {
  double sum = 0;
  for (size_t at = 0; at + sizeof(T) <= pixels.size(); at += kLevelStride * sizeof(T)) {
    T value;
    std::memcpy(&value, &pixels[at], sizeof(T));
    if (std::isfinite(static_cast<double>(value))) sum += value;
  }
  return sum;
}

template <class T>
void AddBends(std::span<const std::byte> pixels, std::vector<double>& second,
              std::vector<double>& fourth) {
  const size_t columns = pixels.size() / sizeof(T);
  const auto at = [&](size_t u) {
    T value;
    std::memcpy(&value, &pixels[u * sizeof(T)], sizeof(T));
    return static_cast<double>(value);
  };
  for (size_t u = 2; u + 2 < columns; ++u) {
    const double bend = at(u - 1) - 2 * at(u) + at(u + 1);
    const double of_bends = at(u - 2) + at(u + 2) - 4 * (at(u - 1) + at(u + 1)) + 6 * at(u);
    if (!std::isfinite(of_bends)) continue;
    second.push_back(std::abs(bend));
    fourth.push_back(std::abs(of_bends));
  }
}

/// Pixels whose mirror image is another value than any around that place.
struct Mirrored {
  bool on_pixels = false;  // images of pixels are pixels
  int compared = 0, unlike = 0;
};

/// `image`: where the mirror image of column 0 is.
template <class T>
void AddMirrored(std::span<const std::byte> pixels, double image, Mirrored& mirrored) {
  const auto columns = static_cast<int>(pixels.size() / sizeof(T));
  std::vector<T> row(columns);
  std::memcpy(row.data(), pixels.data(), columns * sizeof(T));
  const auto [least, most] = std::ranges::minmax(row);
  const int reach = mirrored.on_pixels ? 0 : 1;
  const double rounding = (mirrored.on_pixels ? kUnlikePixel : kUnlike) *
                              (static_cast<double>(most) - static_cast<double>(least)) +
                          kLeastUnlike<T>;
  for (int u = 0; u < columns; ++u) {
    const int first = (mirrored.on_pixels ? static_cast<int>(std::lround(image))
                                          : static_cast<int>(std::floor(image))) -
                      u - reach;
    const int last = first + 3 * reach;
    if (first < 0 || last >= columns) continue;
    const auto [low, high] = std::ranges::minmax(std::span(row).subspan(first, last - first + 1));
    ++mirrored.compared;
    mirrored.unlike += row[u] < low - rounding || row[u] > high + rounding;
  }
}

}  // namespace

RepeatedFrames::RepeatedFrames(const Acquisition& acquisition)
    : acquisition_(acquisition), seen_(acquisition.trajectory.size()), is_copy_(seen_.size()) {}

bool RepeatedFrames::SameAs(int view, int other) const {
  if (other < 0 || other >= static_cast<int>(seen_.size()) || !seen_[other]) return false;
  return seen_[view]->checksum == seen_[other]->checksum &&
         seen_[view]->level == seen_[other]->level &&
         acquisition_.trajectory[view] != acquisition_.trajectory[other];
}

int RepeatedFrames::FarOriginal(int view) const {
  const auto found = first_with_.find(seen_[view]->checksum);
  if (found == first_with_.end() || !SameAs(view, found->second)) return -1;
  const ProjectionMatrix &here = acquisition_.trajectory[view],
                         &there = acquisition_.trajectory[found->second];
  double largest = 0, difference = 0;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      largest = std::max(largest, std::abs(here(row, column)));
      difference = std::max(difference, std::abs(here(row, column) - there(row, column)));
    }
  }
  return difference > kOnePlace * largest ? found->second : -1;
}

bool RepeatedFrames::HasNoise(std::span<const FrameRow> rows) const {
  const bool counts = acquisition_.pixel_type == PixelType::kUint16Counts;
  std::vector<double> second, fourth;
  for (const FrameRow& row : rows) {
    counts ? AddBends<uint16_t>(row.pixels, second, fourth)
           : AddBends<float>(row.pixels, second, fourth);
  }
  if (second.empty()) return false;
  const double of_bends = MedianOf(fourth);
  return of_bends > (counts ? kLeastCounts : kLeastLines) &&
         of_bends > kNoiseRatio * MedianOf(second);
}

bool RepeatedFrames::IsMirrored(int view, std::span<const FrameRow> rows) const {
  const ProjectionMatrix& matrix = acquisition_.trajectory[view];
  const double image = 2 * matrix(0, 3) / matrix(2, 3);
  Mirrored mirrored{.on_pixels = std::abs(image - std::round(image)) < kOnPixel};
  for (const FrameRow& row : rows) {
    acquisition_.pixel_type == PixelType::kUint16Counts
        ? AddMirrored<uint16_t>(row.pixels, image, mirrored)
        : AddMirrored<float>(row.pixels, image, mirrored);
  }
  return mirrored.unlike <=
         (mirrored.on_pixels ? kUnlikePixelShare : kUnlikeShare) * mirrored.compared;
}

bool RepeatedFrames::Add(int view, std::span<const FrameRow> rows) {
  double level = 0;
  uint32_t checksum = 0;
  for (const FrameRow& row : rows) {
    checksum = ExtendCrc32c(checksum, row.pixels);
    level += acquisition_.pixel_type == PixelType::kUint16Counts ? LevelOf<uint16_t>(row.pixels)
                                                                 : LevelOf<float>(row.pixels);
  }
  seen_[view] = {checksum, level};
  lowest_ = any_ ? std::min(lowest_, level) : level;
  highest_ = any_ ? std::max(highest_, level) : level;
  any_ = true;
  const bool as_before = SameAs(view, view - 1), as_after = SameAs(view, view + 1);
  const int original = FarOriginal(view);
  first_with_.try_emplace(checksum, view);
  if (as_before || as_after) {
    const bool differ =
        highest_ - lowest_ > kAlike * std::max(std::abs(lowest_), std::abs(highest_));
    if (!differ && !HasNoise(rows) && IsMirrored(view, rows)) return false;
    if (as_before) is_copy_[view] = true;
    if (as_after) is_copy_[view + 1] = true;
    return true;
  }
  if (original < 0 || !HasNoise(rows)) return false;
  is_copy_[std::max(view, original)] = true;
  return true;
}

int RepeatedFrames::copies() const { return static_cast<int>(std::ranges::count(is_copy_, true)); }

int RepeatedFrames::first_copy() const {
  const auto first = std::ranges::find(is_copy_, true);
  return first == is_copy_.end() ? 0 : static_cast<int>(first - is_copy_.begin());
}

std::string RepeatedFrames::TextOf(int view) const {
  if (!SameAs(view, view - 1) && !SameAs(view, view + 1)) {
    const int other = FarOriginal(view);
    return absl::StrFormat(
        "frame %d has the pixels of frame %d, which no two exposures have: what delivers the "
        "frames sends some twice, in the place of others",
        std::max(view, other), std::min(view, other));
  }
  const int before = SameAs(view, view - 1) ? view - 1 : view;
  return absl::StrFormat(
      "frame %d has the pixels of frame %d, which no two exposures have: what delivers the frames "
      "stands still",
      before + 1, before);
}

std::string RepeatedFrames::Text() const {
  bool all_of_before = true;
  for (size_t view = 0; view < is_copy_.size(); ++view) {
    const auto at = static_cast<int>(view);
    all_of_before = all_of_before && (!is_copy_[view] || SameAs(at, at - 1));
  }
  return absl::StrFormat(
      "%d of %d frames, of which the first is frame %d, have the pixels of %s", copies(),
      seen_.size(), first_copy(),
      all_of_before ? "the frame before, which no two exposures have: what delivers the frames "
                      "stood still"
                    : "another frame, which no two exposures have: what delivers the frames has "
                      "sent some twice, in the place of others");
}

}  // namespace isocenter::recon
