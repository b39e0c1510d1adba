// The flags of `isocenter reconstruct`.
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/options/acquisition_flags.h"
#include "client/cli/options/iterative_flags.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/output/json_output.h"
#include "client/cli/reconstruct/gating_flags.h"
#include "client/flags/command.h"
#include "kernels/recon/settings.h"

namespace isocenter::cli {

struct ReconstructOptions {
  AcquisitionFlags acquisition;
  std::string calibration;
  std::string out;
  bool overwrite = false;
  int size = 256;
  std::string window = "ram-lak";
  std::string truncation = "none";
  recon::FdkSettings fdk{.mu_water_per_mm = kMuWaterPerMm};
  std::string precision = "exact";
  std::string algorithm = "fdk";
  IterativeFlags iterative;
  GatingFlags gating;
  std::string curve;
  std::string fan_beam_kernel = "exact";
  int fan_beam_decrease = 0;
  std::string backend;
  int devices = 1;
  int threads = 0;
  int64_t memory_mib = 0;
  double deadline_seconds = 0;
  bool print_plan = false;
  bool find_defects = false;
  bool metal = false;
  bool bone = false;
  bool rings = false;
  bool stripes = false;
  bool scatter = false;
  bool cone_beam = false;
  bool complete_rows = false;
  bool motion = false;
  std::string poses;
  bool self_calibrate = false;
  std::string reference;
  std::string matrices_out;
  JsonOutput json;
};

/// The target must outlive the parsing.
void AddReconstructFlags(flags::Command command, ReconstructOptions& options);

/// `fdk` with what --window, --truncation and --precision say by name.
recon::FdkSettings FdkOf(const ReconstructOptions& options);

}  // namespace isocenter::cli
