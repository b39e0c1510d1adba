// Fill minus mask: the third volume of a pair (3-D DSA).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/scheduler/memory_budget.h"

namespace isocenter::pipeline {

/// The jobs of a pair; null: not there.
struct Pair {
  jobs::JobSnapshot mask, fill, subtraction;
};
Pair FindPair(const jobs::JobTable& table, const std::string& pair_id);

/// Subtracts the stored volumes of a pair whose halves are both completed, voxel by voxel in
/// Hounsfield units, and stores the difference as a job of its own, which is returned in its final
/// state by the table. Without effect when it exists already. `memory`: of the host. Errors: those
/// of the table and the store; the job has failed with them, too.
absl::Status Subtract(const Pair& pair, jobs::JobTable& table, jobs::ResultStore& results,
                      scheduler::MemoryBudget& memory);

}  // namespace isocenter::pipeline
