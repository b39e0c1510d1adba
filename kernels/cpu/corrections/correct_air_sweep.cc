#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/check.h"

namespace isocenter::cpu {
namespace {

constexpr int kTile = ops::kAirTile;

/// Of a pixel, among blocks: the one before or at it, and how far the next one counts.
struct Place {
  int low = 0, high = 0;
  float share = 0;
};

Place PlaceOf(float position, int count) {
  const float held = std::clamp(position, 0.f, static_cast<float>(count - 1));
  const int low = static_cast<int>(held);
  return {low, std::min(low + 1, count - 1), held - static_cast<float>(low)};
}

/// How far the next block counts, of the pixels between the middles of two.
constexpr std::array<float, kTile> kShares = [] {
  std::array<float, kTile> shares{};
  for (int k = 0; k < kTile; ++k) shares[k] = (static_cast<float>(k) + 0.5f) / kTile;
  return shares;
}();

/// Divides a row by what lies linearly between the middles of its blocks.
void DivideRow(const std::vector<float>& blocks, int64_t columns, float* row) {
  constexpr int64_t kHalf = kTile / 2;
  const int64_t begin = std::min(kHalf, columns);
  for (int64_t u = 0; u < begin; ++u) row[u] /= blocks.front();
  int64_t u = begin;
  for (size_t b = 0; b + 1 < blocks.size() && u < columns; ++b, u += kTile) {
    const float first = blocks[b], rise = blocks[b + 1] - blocks[b];
    const auto end = static_cast<int>(std::min<int64_t>(kTile, columns - u));
    for (int k = 0; k < end; ++k) row[u + k] /= first + rise * kShares[k];
  }
  for (; u < columns; ++u) row[u] /= blocks.back();
}

class CorrectAirSweepSegments final : public ops::CorrectAirSweep {
 public:
  CorrectAirSweepSegments(const ops::Calibration& calibration, std::shared_ptr<ThreadPool> pool,
                          DeviceMemory sweep)
      : CorrectAirSweep(calibration),
        angles_(static_cast<int>(calibration.air_sweep.angles.size())),
        across_(ops::AirSweep::Blocks(detector().columns)),
        down_(ops::AirSweep::Blocks(detector().rows)),
        layout_({1, detector().rows, detector().columns}),
        pool_(std::move(pool)),
        sweep_(std::move(sweep)) {
    std::copy(calibration.air_sweep.relative.begin(), calibration.air_sweep.relative.end(),
              sweep_.data());
  }

 private:
  absl::Status DoRun(std::span<const float> places, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const int64_t rows = detector().rows;
    pool_->ParallelFor(static_cast<int64_t>(places.size()) * rows, [&](int64_t index, int) {
      const int64_t view = index / rows, v = index % rows;
      const Place angle = PlaceOf(places[view], angles_);
      const Place row = PlaceOf((static_cast<float>(v) + 0.5f) / kTile - 0.5f, down_);
      std::vector<float> blocks(across_);
      for (int b = 0; b < across_; ++b) {
        blocks[b] =
            Lerp(Lerp(Block(angle.low, row.low, b), Block(angle.low, row.high, b), row),
                 Lerp(Block(angle.high, row.low, b), Block(angle.high, row.high, b), row), angle);
      }
      DivideRow(blocks, detector().columns,
                stack->data() + view * layout_.view_stride + v * layout_.row_stride);
    });
    return absl::OkStatus();
  }

  static float Lerp(float low, float high, const Place& place) {
    return low + (high - low) * place.share;
  }
  float Block(int angle, int row, int column) const {
    return sweep_.data()[(int64_t{angle} * down_ + row) * across_ + column];
  }

  const int angles_, across_, down_;
  const RowLayout layout_;
  const std::shared_ptr<ThreadPool> pool_;
  DeviceMemory sweep_;  // [angle][row][column] of blocks
};

int64_t SweepFloats(const ops::Calibration& calibration) {
  return std::max<int64_t>(1, static_cast<int64_t>(calibration.air_sweep.relative.size()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectAirSweep>> NewCorrectAirSweep(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_ASSIGN_OR_RETURN(DeviceMemory sweep,
                       DeviceMemory::Create(own->budget(), SweepFloats(calibration)));
  return std::make_unique<CorrectAirSweepSegments>(calibration, own->pool(), std::move(sweep));
}

int64_t CorrectAirSweepBytes(const ops::Device&, const ops::Extents&,
                             const ops::Calibration& calibration) {
  return SweepFloats(calibration) * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
