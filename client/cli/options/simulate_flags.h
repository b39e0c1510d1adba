// The flags of `isocenter simulate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/options/simulate_motion.h"
#include "client/cli/options/simulate_organ.h"
#include "client/cli/options/simulate_trajectory.h"
#include "client/cli/output/json_output.h"
#include "client/cli/rabbitct_data_set.h"
#include "client/flags/command.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/phantom/noise.h"

namespace isocenter::cli {

struct SimulateOptions {
  std::string phantom;
  std::optional<double> scale_mm;
  std::string volume;
  std::vector<int> raw_shape;
  std::vector<double> raw_spacing{1, 1, 1};
  std::string raw_type = "int16";
  std::string beads;  // "helix", "rings" or the name of a table
  std::string sweep;  // "dark", "flat" or "step": nothing is in the beam

  std::string out;
  std::string format;  // empty: by the ending of `out`
  bool overwrite = false;
  JsonOutput json;
  RabbitCtChoice rabbitct;
  TrajectoryChoice trajectory;
  std::vector<int> detector{620, 480};
  double pitch_mm = 0.616;
  std::string pixel = "counts";
  double i0 = 60000;          // leaves room for the noise of unattenuated pixels
  phantom::NoiseModel noise;  // its seed: noise_seed, else seed
  uint64_t seed = 1;
  std::optional<uint64_t> noise_seed;
  std::string physics;
  std::string scatter_backend = "cpu";  // follows the photons of the physics' scatter
  int64_t scatter_memory_mib = 0;       // of a device; 0: all
  int subsamples = 1;

  std::string matrices;
  std::string truth;
  bool truth_materials = false;
  int truth_size = 256;
  double truth_voxel_mm = 0;  // 0: from the field of view

  MotionChoice motion;
  OrganChoice organ;

  v1::PatientStudy study;
  v1::AcquisitionHeader system;  // only what is not empty counts
};

void AddSimulateFlags(flags::Command command, SimulateOptions& options);

}  // namespace isocenter::cli
