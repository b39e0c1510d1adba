// What spreads as glare, on blocks: one team for each view.
#pragma once

#include "kernels/cuda/corrections/spread_lines.cuh"

namespace isocenter::cuda {

struct GlareJob {
  BlockShape shape;
  TableLayout layout;  // a Gaussian for each term
  SpreadPlan plan;
  const float* tables;
  float factor;  // 1 / (1 - Σ share)
  float* fields;
  int64_t fields_of_view;

  /// Of one view: what arrived, in the end what spread; what fell; each term's sums along rows.
  static int64_t FieldsOfView(const BlockShape& shape, int64_t terms) {
    return shape.count() * 2 + SumsAlongRows(shape) * terms;
  }
};

__device__ inline void SpreadGlareAlongRows(const Team& team, const GlareJob& job,
                                            const float* tables, const float* fell, float* stage,
                                            float* along_rows) {
  const auto [rows, columns] = job.shape;
  const int terms = job.layout.gaussians, runs = RunsOf(columns), end = team.End(rows);
  for (int top = team.Begin(rows); top < end; top += job.plan.rows_at_once) {
    const int height = min(job.plan.rows_at_once, end - top);
    __syncthreads();  // nobody reads the stage any more
    Stage(
        height * columns, [](int) { return true; }, [&](int i) { return fell[top * columns + i]; },
        [](int i) { return i; }, stage);
    __syncthreads();
    for (int item = threadIdx.x; item < height * terms * runs; item += blockDim.x) {
      // Terms, which reach differently far, come to all threads alike.
      const int run = item % runs, v = item / runs % height, term = item / runs / height;
      float sums[kRun] = {};
      AddLine(stage + v * columns, 1, 0, columns, AlongRow(job.layout, tables, term), run * kRun, 0,
              1, sums);
      float* const row = along_rows + RowOfSums(job.shape, term * rows + top + v);
#pragma unroll
      for (int q = 0; q < kRun; ++q) row[PlaceInRow(job.shape, run, q)] = sums[q];
    }
  }
}

__global__ __launch_bounds__(kTeamThreads,
                             3) void GlareKernel(const __grid_constant__ GlareJob job) {
  extern __shared__ float4 shared[];
  float* const tables = reinterpret_cast<float*>(shared);
  float* const stage = tables + job.plan.stage_offset;
  LoadTables(job.layout, job.tables, tables);
  const Team team{};
  const int blocks = job.shape.rows * job.shape.columns;
  float* const arrived = job.fields + team.view() * job.fields_of_view;
  float* const fell = arrived + blocks;
  float* const along_rows = fell + blocks;
  for (int step = 0; step <= ops::kGlareSteps; ++step) {
    SpreadGlareAlongRows(team, job, tables, step == 0 ? arrived : fell, stage, along_rows);
    team.Sync();
    // The next estimate of what fell; at last, what spread.
    const bool last = step == ops::kGlareSteps;
    SpreadAlongColumns(
        team, job.shape, job.layout, job.plan, tables, along_rows, stage, [](int) { return true; },
        [&](int v, int u, float spread) {
          const int block = v * job.shape.columns + u;
          if (last) {
            arrived[block] = spread;
          } else {
            fell[block] = (arrived[block] - spread) * job.factor;
          }
        });
    team.Sync();
  }
}

}  // namespace isocenter::cuda
