#include "kernels/recon/completeness/repair/illegal_lines.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"

namespace isocenter::recon {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kSize = 0x7fffffff;  // all but the sign
constexpr auto kMostBits = std::bit_cast<uint32_t>(kMostLineIntegral);

// As integers, floats without their sign are in order, and infinity and NaN above all others.
bool IsIllegal(float line) { return (std::bit_cast<uint32_t>(line) & kSize) > kMostBits; }

uint32_t BitsAt(const std::byte* at) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits & kSize;
}

/// Of whole pixels, which need not be aligned. Blocks are looked at without a branch for each.
void Look(std::span<const std::byte> pixels, IllegalLines& found) {
  constexpr size_t kBlock = 4096;
  const size_t count = pixels.size() / sizeof(float);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const std::byte* const block = pixels.data() + begin * sizeof(float);
    const size_t size = std::min(kBlock, count - begin);
    uint32_t below = 0;  // its first bit: whether any difference is
    for (size_t i = 0; i < size; ++i) below |= kMostBits - BitsAt(block + sizeof(float) * i);
    if ((below & ~kSize) == 0) continue;
    for (size_t i = 0; i < size; ++i) {
      if (BitsAt(block + sizeof(float) * i) <= kMostBits) continue;
      if (found.illegal++ == 0) found.first = found.pixels + static_cast<int64_t>(begin + i);
    }
  }
  found.pixels += static_cast<int64_t>(count);
}

/// The nearest legal pixels of a line through the frame before and after an illegal one.
struct Gap {
  std::optional<float> before, after;
  int to_before = 0, to_after = 0;  // pixels; 0 where there is none

  bool known() const { return before || after; }
  int length() const { return to_before + to_after; }
  bool closed() const { return before && after; }
  float Value() const {
    if (!before) return *after;
    if (!after) return *before;
    const float weight = static_cast<float>(to_before) / static_cast<float>(length());
    return (1 - weight) * *before + weight * *after;
  }
};

/// `lines`: from the first pixel of the line, `step` apart, `count` of them.
Gap GapAt(const float* lines, int64_t step, int at, int count) {
  Gap gap;
  for (int i = at - 1; i >= 0 && !gap.before; --i) {
    if (IsIllegal(lines[i * step])) continue;
    gap.before = lines[i * step];
    gap.to_before = at - i;
  }
  for (int i = at + 1; i < count && !gap.after; ++i) {
    if (IsIllegal(lines[i * step])) continue;
    gap.after = lines[i * step];
    gap.to_after = i - at;
  }
  return gap;
}

std::optional<float> Replacement(const Detector& detector, const float* frame, int64_t pixel) {
  const int columns = detector.columns, rows = detector.rows;
  const auto u = static_cast<int>(pixel % columns), v = static_cast<int>(pixel / columns);
  const Gap along_row = GapAt(frame + static_cast<int64_t>(v) * columns, 1, u, columns);
  const Gap along_column = GapAt(frame + u, columns, v, rows);
  if (along_row.known() && along_column.known()) {
    const bool use_column = along_row.closed() == along_column.closed()
                                ? along_column.length() < along_row.length()
                                : along_column.closed();
    return (use_column ? along_column : along_row).Value();
  }
  if (along_row.known()) return along_row.Value();
  if (along_column.known()) return along_column.Value();
  return std::nullopt;
}

}  // namespace

IllegalLines FindIllegalLines(std::span<const std::span<const std::byte>> pieces) {
  IllegalLines found;
  std::byte cut[sizeof(float)];  // a pixel that is in more than one piece
  size_t held = 0;
  for (std::span<const std::byte> piece : pieces) {
    while (held > 0 && held < sizeof cut && !piece.empty()) {
      cut[held++] = piece.front();
      piece = piece.subspan(1);
    }
    if (held == sizeof cut) {
      Look(cut, found);
      held = 0;
    }
    if (piece.empty()) continue;
    const size_t whole = piece.size() / sizeof(float) * sizeof(float);
    Look(piece.first(whole), found);
    for (const std::byte rest : piece.subspan(whole)) cut[held++] = rest;
  }
  return found;
}

std::string IllegalLinesText(const IllegalLines& found, const Detector& detector) {
  return absl::StrCat(found.illegal, " of ", found.pixels,
                      " line integrals are not finite, or beyond ", kMostLineIntegral, " (column ",
                      found.first % detector.columns, " of row ", found.first / detector.columns,
                      " is the first); legal are finite numbers of at most ", kMostLineIntegral);
}

std::string RepairedLinesText(const IllegalLines& found, const Detector& detector) {
  return absl::StrCat(IllegalLinesText(found, detector),
                      "; what is not is computed from the pixels beside");
}

std::string UnusedFramesText(int first, int last, absl::string_view why) {
  return absl::StrCat(first == last ? absl::StrCat("frame ", first, " is")
                                    : absl::StrCat("frames ", first, " to ", last, " are"),
                      " not used, and computed from the frames beside: ", why);
}

void RepairLineIntegrals(const Detector& detector, std::span<float> frame) {
  const std::span<const std::byte> bytes = std::as_bytes(frame);
  const IllegalLines found = FindIllegalLines({&bytes, 1});
  if (!found.found()) return;
  std::vector<int64_t> illegal;
  for (auto i = found.first; i < found.pixels; ++i) {
    if (IsIllegal(frame[i])) illegal.push_back(i);
  }
  while (!illegal.empty()) {
    // All from the same state of the frame, so that no pixel's value depends on their order.
    std::vector<float> values(illegal.size());
    std::vector<int64_t> left;
    size_t known = 0;
    for (const int64_t pixel : illegal) {
      const std::optional<float> value = Replacement(detector, frame.data(), pixel);
      if (!value) {
        left.push_back(pixel);
        continue;
      }
      values[known] = *value;
      illegal[known++] = pixel;
    }
    if (known == 0) {
      std::ranges::fill(frame, 0.0F);
      return;
    }
    for (size_t i = 0; i < known; ++i) frame[illegal[i]] = values[i];
    illegal = std::move(left);
  }
}

}  // namespace isocenter::recon
