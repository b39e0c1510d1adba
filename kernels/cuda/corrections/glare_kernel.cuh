// What spreads as glare, on blocks: one team for each view.
#pragma once

#include "kernels/cuda/corrections/spread_lines.cuh"
#include "kernels/cuda/corrections/team.cuh"

namespace isocenter::cuda {

struct GlareJob {
  BlockShape shape;
  TableLayout layout;  // a Gaussian for each term
  const float* tables;
  float factor;  // 1 / (1 - Σ share)
  float* fields;
  int64_t fields_of_view;

  /// Of one view: what arrived, in the end what spread; what fell; each term's sums along rows, of
  /// which columns are contiguous.
  static int64_t FieldsOfView(const BlockShape& shape, int64_t terms) {
    return shape.count() * (2 + terms);
  }
};

__device__ inline void SpreadGlareAlongRows(const Team& team, const GlareJob& job,
                                            const float* tables, const float* fell,
                                            float* along_rows) {
  const auto [rows, columns] = job.shape;
  const int terms = job.layout.gaussians, runs = RunsOf(columns);
  const int begin = team.Begin(rows), items = (team.End(rows) - begin) * terms * runs;
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const int first = item % runs * kRun, term = item / runs % terms;
    const int v = begin + item / runs / terms;
    float sums[kRun] = {};
    AddLine(fell + v * columns, columns, AlongRow(job.layout, tables, term), first, sums);
#pragma unroll
    for (int q = 0; q < kRun; ++q) {
      if (first + q < columns) along_rows[(term * columns + first + q) * rows + v] = sums[q];
    }
  }
}

/// The next estimate of what fell; at last, what spread.
__device__ inline void SpreadGlareAlongColumns(const Team& team, const GlareJob& job,
                                               const float* tables, const float* along_rows,
                                               bool last, float* arrived, float* fell) {
  const auto [rows, columns] = job.shape;
  const int runs = RunsOf(rows);
  const int begin = team.Begin(columns), items = (team.End(columns) - begin) * runs;
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const int first = item % runs * kRun, u = begin + item / runs;
    float sums[kRun] = {};
    for (int term = 0; term < job.layout.gaussians; ++term) {
      AddLine(along_rows + (term * columns + u) * rows, rows, AlongColumn(job.layout, tables, term),
              first, sums);
    }
#pragma unroll
    for (int q = 0; q < kRun; ++q) {
      if (first + q >= rows) continue;
      const int block = (first + q) * columns + u;
      if (last) {
        arrived[block] = sums[q];
      } else {
        fell[block] = (arrived[block] - sums[q]) * job.factor;
      }
    }
  }
}

__global__ __launch_bounds__(kTeamThreads) void GlareKernel(GlareJob job) {
  extern __shared__ float tables[];
  LoadTables(job.layout, job.tables, tables);
  const Team team{};
  const int blocks = job.shape.rows * job.shape.columns;
  float* const arrived = job.fields + team.view() * job.fields_of_view;
  float* const fell = arrived + blocks;
  float* const along_rows = fell + blocks;
  for (int step = 0; step <= ops::kGlareSteps; ++step) {
    SpreadGlareAlongRows(team, job, tables, step == 0 ? arrived : fell, along_rows);
    team.Sync();
    SpreadGlareAlongColumns(team, job, tables, along_rows, step == ops::kGlareSteps, arrived, fell);
    team.Sync();
  }
}

}  // namespace isocenter::cuda
