// What was scattered, on blocks: one team for each view.
#pragma once

#include "kernels/cuda/corrections/spread_lines.cuh"
#include "kernels/cuda/corrections/team.cuh"

namespace isocenter::cuda {

struct ScatterGroup {
  float from_mm, amplitude, alpha, beta;
};

struct ScatterJob {
  BlockShape shape;
  TableLayout layout;  // one or two Gaussians for each group
  const float* tables;
  int groups;
  ScatterGroup group[ops::kMostScatterGroups];
  int group_of[2 * ops::kMostScatterGroups];  // a Gaussian
  float inverse_mu, gamma;
  const float* doses;
  float* fields;
  int64_t fields_of_view;

  static int64_t FieldsOfView(const BlockShape& shape, int64_t gaussians) {
    return shape.count() * (5 + 2 * gaussians) + shape.rows;
  }
};

/// Of one view, a value for each block.
struct ScatterFields {
  __device__ ScatterFields(const ScatterJob& job, int view) {
    const int blocks = job.shape.rows * job.shape.columns;
    arrived = job.fields + view * job.fields_of_view;
    primary = arrived + blocks;
    scattered = primary + blocks;
    scattered_thickness = scattered + blocks;
    group = reinterpret_cast<int*>(scattered_thickness + blocks);
    along_rows = scattered_thickness + 2 * blocks;
    groups_of_row = reinterpret_cast<unsigned*>(along_rows + 2 * job.layout.gaussians * blocks);
  }
  float* arrived;  // of dose 1; in the end what was scattered
  float* primary;
  float *scattered, *scattered_thickness;  // W, t·W
  int* group;
  float* along_rows;        // sums of both for each Gaussian; columns are contiguous
  unsigned* groups_of_row;  // a bit for each
};

__device__ inline float LineIntegralOf(float primary) { return fmaxf(0.f, -logf(primary)); }

/// For this part's rows: of which group they are, and what they scatter.
__device__ inline void FindScattered(const Team& team, const ScatterJob& job,
                                     const ScatterFields& fields) {
  const auto [rows, columns] = job.shape;
  const int begin = team.Begin(rows), end = team.End(rows);
  for (int block = begin * columns + threadIdx.x; block < end * columns; block += blockDim.x) {
    const float primary = fields.primary[block], integral = LineIntegralOf(primary);
    const float thickness = integral * job.inverse_mu;
    int number = job.groups - 1;
    while (job.group[number].from_mm > thickness) --number;
    const ScatterGroup& group = job.group[number];
    const float scattered =
        integral > 0 ? group.amplitude * powf(primary, group.alpha) * powf(integral, group.beta)
                     : 0.f;
    fields.group[block] = number;
    fields.scattered[block] = scattered;
    fields.scattered_thickness[block] = thickness * scattered;
  }
  __syncthreads();
  for (int v = begin + threadIdx.x; v < end; v += blockDim.x) {
    unsigned present = 0;
    for (int u = 0; u < columns; ++u) present |= 1u << fields.group[v * columns + u];
    fields.groups_of_row[v] = present;
  }
  __syncthreads();
}

__device__ inline void SpreadScatterAlongRows(const Team& team, const ScatterJob& job,
                                              const float* tables, const ScatterFields& fields) {
  const auto [rows, columns] = job.shape;
  const int gaussians = job.layout.gaussians, runs = RunsOf(columns);
  const int begin = team.Begin(rows), items = (team.End(rows) - begin) * gaussians * runs;
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const int first = item % runs * kRun, gaussian = item / runs % gaussians;
    const int v = begin + item / runs / gaussians;
    const int group = job.group_of[gaussian];
    const float* const table = AlongRow(job.layout, tables, gaussian);
    float sums[kRun] = {}, sums_thickness[kRun] = {};
    const int end = (fields.groups_of_row[v] >> group & 1u) != 0 ? columns : 0;
    for (int u = 0; u < end; ++u) {
      const int block = v * columns + u;
      if (fields.group[block] != group) continue;
      const float scattered = fields.scattered[block];
      const float scattered_thickness = fields.scattered_thickness[block];
#pragma unroll
      for (int q = 0; q < kRun; ++q) {
        const float weight = table[abs(first + q - u)];
        sums[q] = fmaf(scattered, weight, sums[q]);
        sums_thickness[q] = fmaf(scattered_thickness, weight, sums_thickness[q]);
      }
    }
#pragma unroll
    for (int q = 0; q < kRun; ++q) {
      if (first + q >= columns) continue;
      float* const column = fields.along_rows + (2 * gaussian * columns + first + q) * rows;
      column[v] = sums[q];
      column[columns * rows + v] = sums_thickness[q];
    }
  }
}

/// The next estimate of what was not scattered; at last, what was.
__device__ inline void SpreadScatterAlongColumns(const Team& team, const ScatterJob& job,
                                                 const float* tables, bool last,
                                                 const ScatterFields& fields) {
  const auto [rows, columns] = job.shape;
  const int runs = RunsOf(rows);
  const int begin = team.Begin(columns), items = (team.End(columns) - begin) * runs;
  unsigned present = 0;
  for (int v = 0; v < rows; ++v) present |= fields.groups_of_row[v];
  for (int item = threadIdx.x; item < items; item += blockDim.x) {
    const int first = item % runs * kRun, u = begin + item / runs;
    float sums[kRun] = {}, sums_thickness[kRun] = {};
    for (int gaussian = 0; gaussian < job.layout.gaussians; ++gaussian) {
      if ((present >> job.group_of[gaussian] & 1u) == 0) continue;
      const float* const column = fields.along_rows + (2 * gaussian * columns + u) * rows;
      AddLines(column, column + columns * rows, rows, AlongColumn(job.layout, tables, gaussian),
               first, sums, sums_thickness);
    }
#pragma unroll
    for (int q = 0; q < kRun; ++q) {
      if (first + q >= rows) continue;
      const int block = (first + q) * columns + u;
      const float arrived = fields.arrived[block], primary = fields.primary[block];
      const float thickness = LineIntegralOf(primary) * job.inverse_mu;
      const float scatter =
          fmaxf(0.f, fmaf(job.gamma, sums_thickness[q], (1 - job.gamma * thickness) * sums[q]));
      fields.primary[block] = fmaxf(fmaxf(arrived * primary / (primary + scatter),
                                          static_cast<float>(ops::kLeastPrimary) * arrived),
                                    static_cast<float>(ops::kLeastCoarse));
      if (last) fields.arrived[block] = scatter;
    }
  }
}

__global__ __launch_bounds__(kTeamThreads) void ScatterKernel(ScatterJob job) {
  extern __shared__ float tables[];
  LoadTables(job.layout, job.tables, tables);
  const Team team{};
  const ScatterFields fields(job, team.view());
  const float dose = job.doses[team.view()];
  const int columns = job.shape.columns, end = team.End(job.shape.rows) * columns;
  for (int block = team.Begin(job.shape.rows) * columns + threadIdx.x; block < end;
       block += blockDim.x) {
    const float arrived =
        fmaxf(fields.arrived[block] / dose, static_cast<float>(ops::kLeastCoarse));
    fields.arrived[block] = fields.primary[block] = arrived;
  }
  __syncthreads();
  for (int step = 0; step < ops::kScatterSteps; ++step) {
    FindScattered(team, job, fields);
    SpreadScatterAlongRows(team, job, tables, fields);
    team.Sync();
    SpreadScatterAlongColumns(team, job, tables, step + 1 == ops::kScatterSteps, fields);
    team.Sync();
  }
}

}  // namespace isocenter::cuda
