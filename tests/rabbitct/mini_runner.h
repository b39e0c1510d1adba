// The runner of the RabbitCT benchmark in small: loads a module and calls it as the public one
// (1.0.3 to 2.0) does, with a structure of its own, so that a change of ours cannot hide in it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter::rabbitct_test {

/// The members in the order of the public runner; those after adv_pProjBuffers are newer than 1.0.
struct GlobalData {
  unsigned L, S_x, S_y;
  double* A_n;
  float* I_n;
  float R_L, O_L;
  float* f_L;
  unsigned adv_numProjBuffers;
  float** adv_pProjBuffers;
  unsigned adv_N, adv_projNumber;
  double** adv_ppProjMatrixBuffers;
  unsigned adv_numAvailProjs, adv_firstProjOfSubset;
};

struct DataSet {
  unsigned columns = 0, rows = 0;
  std::array<float, 2> hu_scaling{1, 0};
  std::vector<std::array<double, 12>> matrices;   // column by column
  std::vector<float> images;                      // [projection][row][column]
  std::vector<std::vector<uint16_t>> references;  // of 128³, 256³ ... voxels
};

/// Reads a file front to back, as the public runners do; `version` chooses the layout. Errors:
/// DATA_LOSS (it ends too early, or the version in it is another).
absl::StatusOr<DataSet> ReadDataSet(const std::filesystem::path& path, int version);

struct RunOptions {
  unsigned voxels_per_edge = 32;
  float voxel_mm = 8;
  bool prepare = true;          // runners before 1.0.3 do not know RCTPrepareAlgorithm
  bool own_volume = false;      // f_L is set before the module is loaded
  unsigned image_buffers = 20;  // fewer than a batch: a module must not keep I_n
  bool takes_buffers = true;    // images are read into the module's buffers, if it has some
};

struct Outcome {
  std::string failed;  // the function that returned false; empty when all was well
  bool images_of_module = false;
  std::vector<float> volume;
};

/// One benchmark. Errors: NOT_FOUND (the module or one of its functions).
absl::StatusOr<Outcome> RunModule(const std::string& module, const DataSet& data,
                                  const RunOptions& options);

/// The root mean square error that the runner prints, in HU.
double RunnerError(const DataSet& data, const std::vector<float>& volume,
                   const std::vector<uint16_t>& reference);

}  // namespace isocenter::rabbitct_test
