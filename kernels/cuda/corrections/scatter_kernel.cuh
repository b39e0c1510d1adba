// What was scattered, on blocks: one team for each view.
#pragma once

#include "kernels/cuda/corrections/spread_lines.cuh"

namespace isocenter::cuda {

struct ScatterGroup {
  float from_mm, amplitude, alpha, beta;
};

struct ScatterJob {
  BlockShape shape;
  TableLayout layout;  // one or two Gaussians for each group
  SpreadPlan plan;
  const float* tables;
  int groups;
  ScatterGroup group[ops::kMostScatterGroups];
  int group_of[2 * ops::kMostScatterGroups];  // a Gaussian
  float inverse_mu, gamma;
  const float* doses;
  float* fields;
  int64_t fields_of_view;

  /// Even, as what is kept in pairs needs it.
  static int64_t FieldsOfView(const BlockShape& shape, int64_t gaussians) {
    return shape.count() * 2 + SumsAlongRows(shape) * 2 * gaussians + (shape.rows + 1) / 2 * 2;
  }
};

/// Of one view, a value for each block.
struct ScatterFields {
  __device__ ScatterFields(const ScatterJob& job, int view) {
    const int blocks = job.shape.rows * job.shape.columns;
    arrived = job.fields + view * job.fields_of_view;
    primary = arrived + blocks;
    along_rows = reinterpret_cast<float2*>(primary + blocks);
    groups_of_row =
        reinterpret_cast<unsigned*>(along_rows + job.layout.gaussians * SumsAlongRows(job.shape));
  }
  float* arrived;           // of dose 1; in the end what was scattered
  float* primary;           // the estimate
  float2* along_rows;       // each Gaussian's sums of W and t·W
  unsigned* groups_of_row;  // a bit for each
};

/// Where blocks of a group are in a row.
struct GroupRange {
  int begin = 0, end = 0;
};
static_assert(sizeof(GroupRange) == SpreadPlan::kRangeBytes);

__device__ inline float LineIntegralOf(float primary) { return fmaxf(0.f, -logf(primary)); }

struct Scattered {
  int group;
  float2 value;  // W, t·W
};

__device__ inline Scattered ScatteredBy(const ScatterJob& job, float primary) {
  const float integral = LineIntegralOf(primary), thickness = integral * job.inverse_mu;
  int number = job.groups - 1;
  while (job.group[number].from_mm > thickness) --number;
  const ScatterGroup& group = job.group[number];
  const float scattered =
      integral > 0 ? group.amplitude * powf(primary, group.alpha) * powf(integral, group.beta)
                   : 0.f;
  return {number, {scattered, thickness * scattered}};
}

/// What a row scatters, by a warp: a line for each group, `group_stride` apart, which is 0 where
/// blocks belong to others; and where each group is.
__device__ inline void FindScattered(const ScatterJob& job, const float* primary, int group_stride,
                                     float2* lines, GroupRange* ranges, unsigned* groups_of_row) {
  constexpr int kLanes = 32;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  GroupRange own;  // of the group with this lane's number
  unsigned present = 0;
  const int columns = job.shape.columns;
  float next = lane < columns ? primary[lane] : 1.f;  // on its way while the one before is used
  for (int left = 0; left < columns; left += kLanes) {
    const int u = left + lane;
    const bool inside = u < columns;
    const float own_primary = next;
    if (u + kLanes < columns) next = primary[u + kLanes];
    const Scattered scattered =
        inside ? ScatteredBy(job, own_primary) : Scattered{.group = -1, .value = {}};
    for (int group = 0; group < job.groups; ++group) {
      const bool is_here = scattered.group == group;
      if (inside) lines[group * group_stride + u] = is_here ? scattered.value : float2{};
      const unsigned here = __ballot_sync(0xffffffffu, is_here);
      if (here == 0) continue;
      if (lane == group) {
        if (own.end == 0) own.begin = left + __ffs(static_cast<int>(here)) - 1;
        own.end = left + kLanes - __clz(static_cast<int>(here));
      }
      present |= 1u << group;
    }
  }
  if (lane < job.groups) ranges[lane] = own;
  if (lane == 0) *groups_of_row = present;
}

__device__ inline void SpreadScatterAlongRows(const Team& team, const ScatterJob& job,
                                              const float* tables, const ScatterFields& fields,
                                              float2* stage) {
  constexpr int kLanes = 32;
  const auto [rows, columns] = job.shape;
  const int gaussians = job.layout.gaussians, runs = RunsOf(columns), end = team.End(rows);
  const int group_stride = job.plan.rows_at_once * columns;
  auto* const ranges = reinterpret_cast<GroupRange*>(stage + job.groups * group_stride);
  for (int top = team.Begin(rows); top < end; top += job.plan.rows_at_once) {
    const int height = min(job.plan.rows_at_once, end - top);
    __syncthreads();  // nobody reads the stage any more
    for (int v = threadIdx.x / kLanes; v < height; v += kTeamThreads / kLanes) {
      FindScattered(job, fields.primary + (top + v) * columns, group_stride, stage + v * columns,
                    ranges + v * job.groups, fields.groups_of_row + top + v);
    }
    __syncthreads();
    for (int item = threadIdx.x; item < height * gaussians * runs; item += blockDim.x) {
      // Gaussians of groups that are not there come to all threads alike.
      const int run = item % runs, v = item / runs % height;
      const int gaussian = item / runs / height, group = job.group_of[gaussian];
      const GroupRange range = ranges[v * job.groups + group];
      float2 sums[kRun] = {};
      AddLine(stage + group * group_stride + v * columns, 1, range.begin, range.end,
              AlongRow(job.layout, tables, gaussian), run * kRun, 0, 1, sums);
      float2* const row = fields.along_rows + RowOfSums(job.shape, gaussian * rows + top + v);
#pragma unroll
      for (int q = 0; q < kRun; ++q) row[PlaceInRow(job.shape, run, q)] = sums[q];
    }
  }
}

/// A bit for each group that the view has. By all threads of a block.
__device__ inline unsigned GroupsOf(const ScatterFields& fields, int rows) {
  __shared__ unsigned present;
  if (threadIdx.x == 0) present = 0;
  __syncthreads();
  for (int v = threadIdx.x; v < rows; v += blockDim.x) {
    atomicOr(&present, fields.groups_of_row[v]);
  }
  __syncthreads();
  return present;
}

/// The next estimate of what was not scattered; at last, what was.
__device__ inline void SpreadScatterAlongColumns(const Team& team, const ScatterJob& job,
                                                 const float* tables, bool last,
                                                 const ScatterFields& fields, float2* stage) {
  const unsigned groups = GroupsOf(fields, job.shape.rows);
  SpreadAlongColumns(
      team, job.shape, job.layout, job.plan, tables, fields.along_rows, stage,
      [&](int gaussian) { return (groups >> job.group_of[gaussian] & 1u) != 0; },
      [&](int v, int u, float2 sum) {
        const int block = v * job.shape.columns + u;
        const float arrived = fields.arrived[block], primary = fields.primary[block];
        const float thickness = LineIntegralOf(primary) * job.inverse_mu;
        const float scatter =
            fmaxf(0.f, fmaf(job.gamma, sum.y, (1 - job.gamma * thickness) * sum.x));
        fields.primary[block] = fmaxf(fmaxf(arrived * primary / (primary + scatter),
                                            static_cast<float>(ops::kLeastPrimary) * arrived),
                                      static_cast<float>(ops::kLeastCoarse));
        if (last) fields.arrived[block] = scatter;
      });
}

__global__ __launch_bounds__(kTeamThreads,
                             2) void ScatterKernel(const __grid_constant__ ScatterJob job) {
  extern __shared__ float4 shared[];
  float* const tables = reinterpret_cast<float*>(shared);
  auto* const stage = reinterpret_cast<float2*>(tables + job.plan.stage_offset);
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
  for (int step = 0; step < ops::kScatterSteps; ++step) {
    SpreadScatterAlongRows(team, job, tables, fields, stage);
    team.Sync();
    SpreadScatterAlongColumns(team, job, tables, step + 1 == ops::kScatterSteps, fields, stage);
    team.Sync();
  }
}

}  // namespace isocenter::cuda
