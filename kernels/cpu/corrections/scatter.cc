#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/corrections/block_rows.h"
#include "kernels/cpu/corrections/coarse_frames.h"
#include "kernels/cpu/corrections/methods.h"

namespace isocenter::cpu {
namespace {

struct Gaussian {
  SpreadTable along_rows, along_columns;  // its share of the kernel is in the latter
};

struct Group {
  float from_mm, amplitude, alpha, beta;
  std::vector<Gaussian> kernel;
};

// What a thread works with, a value for each block.
struct Fields {
  static constexpr int kCount = 9;
  Fields(float* work, int64_t floats)
      : primary(work),
        thickness(primary + floats),
        group(thickness + floats),
        scattered(group + floats),
        of_group(scattered + floats),
        along_rows(of_group + floats),
        spread(along_rows + floats),
        spread_thickness(spread + floats),
        scatter(spread_thickness + floats) {}
  float *primary, *thickness;
  float* group;                      // its number
  float* scattered;                  // W
  float* of_group;                   // W or t·W where the group is the one at work, else 0
  float* along_rows;                 // spread so far
  float *spread, *spread_thickness;  // Σ h * W, Σ h * (t·W)
  float* scatter;
};

class CorrectScatter final : public ops::CorrectScatter {
 public:
  CorrectScatter(const CpuSession& session, const ops::Calibration& calibration)
      : ops::CorrectScatter(calibration.detector),
        frames_(session, detector(), Fields::kCount),
        inverse_mu_(static_cast<float>(1 / calibration.scatter->mu_water_per_mm)),
        gamma_(static_cast<float>(calibration.scatter->gamma_per_mm)) {
    for (const ops::ScatterKernels::Group& group : calibration.scatter->groups) {
      groups_.push_back({static_cast<float>(group.from_mm),
                         static_cast<float>(group.amplitude),
                         static_cast<float>(group.alpha),
                         static_cast<float>(group.beta),
                         {}});
      AddGaussian(group.narrow_sigma_mm, 1 - group.wide_share);
      AddGaussian(group.wide_sigma_mm, group.wide_share);
    }
  }

 private:
  void AddGaussian(double sigma_mm, double share) {
    if (share == 0) return;
    const BlockGrid& grid = frames_.grid();
    groups_.back().kernel.push_back(
        {SpreadTable(grid.columns, detector().pitch_u_mm, sigma_mm),
         SpreadTable(grid.rows, detector().pitch_v_mm, sigma_mm, share)});
  }

  absl::Status DoRun(int64_t views, const ops::ProjectionStack& doses,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    ISO_ASSIGN_OR_RETURN(const Stack* dose_stack, AsStack(doses));
    const RowLayout layout(dose_stack->shape());
    const auto dose = [&](int64_t view) { return dose_stack->data()[view * layout.view_stride]; };
    return frames_.Run(
        views,
        [&](int64_t view, float* blocks, float* work) { FindScatter(dose(view), blocks, work); },
        [&](int64_t view, const float* scatter, float* pixels) {
          TakeScatterOff(scatter, dose(view), detector().columns, pixels);
        },
        *stack);
  }

  // In place: the means of what arrived become what was scattered, of dose 1.
  void FindScatter(float dose, float* blocks, float* work) const {
    const int64_t floats = frames_.grid().floats();
    constexpr auto kLeastCoarse = static_cast<float>(ops::kLeastCoarse);
    const Fields fields(work, floats);
    // What pads the rows takes part without being looked at; it should be a number.
    std::fill(work, work + Fields::kCount * floats, 0.f);
    ForEachBlock([&](int64_t i) { blocks[i] = std::max(blocks[i] / dose, kLeastCoarse); });
    std::copy(blocks, blocks + floats, fields.primary);
    for (int step = 0; step < ops::kScatterSteps; ++step) {
      FindScattered(fields);
      Spread(fields);
      ForEachBlock([&](int64_t i) {
        const float t = fields.thickness[i];
        fields.scatter[i] = std::max(
            0.f, (1 - gamma_ * t) * fields.spread[i] + gamma_ * fields.spread_thickness[i]);
        const float primary =
            blocks[i] * fields.primary[i] / (fields.primary[i] + fields.scatter[i]);
        const float least = static_cast<float>(ops::kLeastPrimary) * blocks[i];
        fields.primary[i] = std::max({primary, least, kLeastCoarse});
      });
    }
    std::copy(fields.scatter, fields.scatter + floats, blocks);
  }

  void FindScattered(const Fields& fields) const {
    ForEachBlock([&](int64_t i) {
      const float integral = -std::log(fields.primary[i]);
      const float t = std::max(0.f, integral) * inverse_mu_;
      size_t group = groups_.size() - 1;
      while (groups_[group].from_mm > t) --group;
      fields.thickness[i] = t;
      fields.group[i] = static_cast<float>(group);
      fields.scattered[i] = integral > 0 ? groups_[group].amplitude *
                                               std::pow(fields.primary[i], groups_[group].alpha) *
                                               std::pow(integral, groups_[group].beta)
                                         : 0;
    });
  }

  void Spread(const Fields& fields) const {
    const int64_t floats = frames_.grid().floats();
    std::fill(fields.spread, fields.spread + floats, 0.f);
    std::fill(fields.spread_thickness, fields.spread_thickness + floats, 0.f);
    for (size_t group = 0; group < groups_.size(); ++group) {
      ForEachBlock([&](int64_t i) {
        const bool in_group = fields.group[i] == static_cast<float>(group);
        fields.of_group[i] = in_group ? fields.scattered[i] : 0;
      });
      const std::vector<int> rows = RowsWithScatter(fields.of_group);
      if (rows.empty()) continue;
      AddKernel(groups_[group], rows, fields, fields.spread);
      if (gamma_ == 0) continue;
      ForEachBlock([&](int64_t i) { fields.of_group[i] *= fields.thickness[i]; });
      AddKernel(groups_[group], rows, fields, fields.spread_thickness);
    }
  }

  void AddKernel(const Group& group, const std::vector<int>& rows, const Fields& fields,
                 float* spread) const {
    const BlockGrid& grid = frames_.grid();
    for (const Gaussian& gaussian : group.kernel) {
      for (const int v : rows) {
        SpreadAlongRow(fields.of_group + v * grid.stride, gaussian.along_rows,
                       fields.along_rows + v * grid.stride);
      }
      AddSpreadAlongColumns(grid, fields.along_rows, rows, gaussian.along_columns, spread);
    }
  }

  std::vector<int> RowsWithScatter(const float* scattered) const {
    const BlockGrid& grid = frames_.grid();
    std::vector<int> rows;
    for (int v = 0; v < grid.rows; ++v) {
      const float* const row = scattered + v * grid.stride;
      if (std::any_of(row, row + grid.columns, [](float w) { return w != 0; })) rows.push_back(v);
    }
    return rows;
  }

  template <class Body>
  void ForEachBlock(const Body& body) const {
    const BlockGrid& grid = frames_.grid();
    for (int v = 0; v < grid.rows; ++v) {
      for (int u = 0; u < grid.columns; ++u) body(v * grid.stride + u);
    }
  }

  CoarseFrames frames_;
  const float inverse_mu_, gamma_;
  std::vector<Group> groups_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectScatter>> NewCorrectScatter(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_RETURN_IF_ERROR(ops::CheckHasScatter(calibration));
  return std::make_unique<CorrectScatter>(*own, calibration);
}

int64_t CorrectScatterBytes(const ops::Device& device, const ops::Extents& extents,
                            const ops::Calibration& calibration) {
  return CoarseFrames::Bytes(device, calibration.detector, Fields::kCount, extents.stack.slow);
}

}  // namespace isocenter::cpu
