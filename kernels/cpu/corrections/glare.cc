#include <numeric>
#include <vector>

#include "kernels/cpu/corrections/block_rows.h"
#include "kernels/cpu/corrections/coarse_frames.h"
#include "kernels/cpu/corrections/methods.h"

namespace isocenter::cpu {
namespace {

// What a thread works with: what fell onto the blocks, what spreads along rows, what spreads.
constexpr int kFields = 3;

struct Term {
  SpreadTable along_rows, along_columns;  // the share is in the latter
};

class CorrectGlare final : public ops::CorrectGlare {
 public:
  CorrectGlare(const CpuSession& session, const ops::Calibration& calibration)
      : ops::CorrectGlare(calibration.detector), frames_(session, detector(), kFields) {
    const BlockGrid& grid = frames_.grid();
    double stays = 1;
    for (const ops::SpreadTerm& term : calibration.glare) {
      if (!ops::SpreadsOverBlocks(detector(), term.sigma_mm)) continue;
      terms_.push_back({SpreadTable(grid.columns, detector().pitch_u_mm, term.sigma_mm),
                        SpreadTable(grid.rows, detector().pitch_v_mm, term.sigma_mm, term.share)});
      stays -= term.share;
    }
    factor_ = static_cast<float>(1 / stays);
    all_rows_.resize(grid.rows);
    std::iota(all_rows_.begin(), all_rows_.end(), 0);
  }

 private:
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (terms_.empty()) return absl::OkStatus();
    return frames_.Run(
        views, [&](int64_t, float* blocks, float* work) { FindGlare(blocks, work); },
        [&](int64_t, const float* glare, float* pixels) {
          TakeGlareOff(glare, factor_, detector().columns, pixels);
        },
        *stack);
  }

  // In place: the means of what arrived become what spread.
  void FindGlare(float* blocks, float* work) const {
    const int64_t floats = frames_.grid().floats();
    float* const fell = work;
    float* const along_rows = fell + floats;
    float* const glare = along_rows + floats;
    std::copy(blocks, blocks + floats, fell);
    for (int step = 0; step < ops::kGlareSteps; ++step) {
      Spread(fell, along_rows, glare);
      for (int64_t i = 0; i < floats; ++i) fell[i] = (blocks[i] - glare[i]) * factor_;
    }
    Spread(fell, along_rows, glare);
    std::copy(glare, glare + floats, blocks);
  }

  void Spread(const float* fell, float* along_rows, float* glare) const {
    const BlockGrid& grid = frames_.grid();
    std::fill(glare, glare + grid.floats(), 0.f);
    for (const Term& term : terms_) {
      for (int v = 0; v < grid.rows; ++v) {
        SpreadAlongRow(fell + v * grid.stride, term.along_rows, along_rows + v * grid.stride);
      }
      AddSpreadAlongColumns(grid, along_rows, all_rows_, term.along_columns, glare);
    }
  }

  CoarseFrames frames_;
  std::vector<Term> terms_;
  std::vector<int> all_rows_;
  float factor_ = 1;  // 1 / (1 - Σ share)
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectGlare>> NewCorrectGlare(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<CorrectGlare>(*own, calibration);
}

int64_t CorrectGlareBytes(const ops::Device& device, const ops::Extents& extents,
                          const ops::Calibration& calibration) {
  return CoarseFrames::Bytes(device, calibration.detector, kFields, extents.stack.slow);
}

}  // namespace isocenter::cpu
