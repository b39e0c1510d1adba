#include "client/cli/reconstruct/options.h"

#include "client/cli/options/overwrite_flag.h"
#include "client/cli/output/convergence_file.h"
#include "client/cli/output/iteration_printer.h"

namespace isocenter::cli {
namespace {

ops::FilterWindow WindowNamed(const std::string& name) {
  if (name == "shepp-logan") return ops::FilterWindow::kSheppLogan;
  if (name == "cosine") return ops::FilterWindow::kCosine;
  if (name == "hamming") return ops::FilterWindow::kHamming;
  if (name == "hann") return ops::FilterWindow::kHann;
  return ops::FilterWindow::kRamLak;
}

ops::Truncation TruncationNamed(const std::string& name) {
  if (name == "mirror") return ops::Truncation::kMirror;
  if (name == "cylinder") return ops::Truncation::kCylinder;
  if (name == "atract") return ops::Truncation::kAtract;
  return ops::Truncation::kNone;
}

void AddFilterFlags(flags::Command filter, ReconstructOptions& o) {
  filter
      .Add("--window", o.window,
           "of the ramp filter: how much it damps fine detail, and with it noise; ram-lak least, "
           "hann most")
      .ShowDefault()
      .OneOf({"ram-lak", "shepp-logan", "cosine", "hamming", "hann"});
  filter
      .Add("--cutoff", o.fdk.cutoff,
           "where the window ends, as a fraction of the finest detail that the pixels hold "
           "(Nyquist)")
      .ShowDefault()
      .Range(0.01, 1.0);
  filter
      .Add("--truncation", o.truncation,
           "what becomes of rows that the detector's edge cuts (docs/truncation.md)")
      .ShowDefault()
      .OneOf({"none", "mirror", "cylinder", "atract"});
  filter.Add("--mu-water", o.fdk.mu_water_per_mm, "attenuation of water in 1/mm")
      .ShowDefault()
      .Range(0.001, 0.1);
  filter
      .Add("--fan-beam-kernel", o.fan_beam_kernel,
           "of fan-beam scans: exact, or the ramp sampled at a padded row's frequencies")
      .ShowDefault()
      .OneOf({"exact", "sampled-ramp"});
  filter
      .Add("--fan-beam-decrease", o.fan_beam_decrease,
           "channels over which rows of fan-beam scans fall to zero on either side, where the "
           "detector cuts them")
      .ShowDefault()
      .Range(0, 65536);
}

void AddCorrectionFlags(flags::Command correct, ReconstructOptions& o) {
  correct
      .Add("--calibration", o.calibration,
           "set of the detector that took the frames, to correct them with (docs/corrections.md)")
      .Type("FILE");
  correct.AddSwitch("--find-defects", o.find_defects,
                    "pixels that are implausible in many frames are defective, too");
  correct.AddSwitch("--metal", o.metal,
                    "a second pass that takes metal's shadows out (docs/second-pass.md)");
  correct.AddSwitch("--bone", o.bone,
                    "a second pass against hardening by bone; needs a --calibration that has a "
                    "bone table");
  correct.AddSwitch("--scatter", o.scatter,
                    "a second pass against scatter that is computed from a coarse volume; needs a "
                    "--calibration that has a scatter model");
  correct.AddSwitch("--cone-beam", o.cone_beam,
                    "a second pass that takes the cone-beam artefact of bone and air off");
  correct.AddSwitch("--complete-rows", o.complete_rows,
                    "rows that the detector cuts go on as a model of what is beyond them, and are "
                    "reconstructed again (docs/truncation.md)");
  correct.AddSwitch("--stripes", o.stripes,
                    "a second pass that takes off what pixels have too much in all views");
  correct.AddSwitch("--motion", o.motion,
                    "find how the object moved as a whole during the scan, and take it out "
                    "(docs/motion.md)");
  correct
      .Add("--poses", o.poses,
           "also write the pose of each frame that --motion found, as `simulate --motion` reads "
           "them, to this .csv")
      .Type("FILE");
  correct.AddSwitch("--self-calibrate", o.self_calibrate,
                    "find from the frames where the detector was, and correct the matrices "
                    "(docs/self-calibration.md)");
  correct
      .Add("--reference", o.reference,
           "earlier volume of the same patient that --self-calibrate looks at, too: .mha, .mhd, "
           ".nii, .nii.gz or the directory of a DICOM CT series")
      .Type("FILE");
  correct
      .Add("--matrices-out", o.matrices_out,
           "also write the matrices that --self-calibrate ended with, as --matrices reads them, "
           "to this .csv")
      .Type("FILE");
  correct.AddSwitch("--rings", o.rings,
                    "take rings around the axis off the volume (docs/second-pass.md)");
}

void AddDeviceFlags(flags::Command device, ReconstructOptions& o) {
  device
      .Add("--backend", o.backend,
           "cpu or cuda (default: the fastest there is), of fan beams gles, too")
      .OneOf({"cpu", "cuda", "gles", "reference"});
  device.Add("--devices", o.devices, "GPUs that share the work; 0: all").ShowDefault().Range(0, 64);
  device.Add("--threads", o.threads, "of the CPU; 0: one per core").ShowDefault().Range(0, 1024);
  device.Add("--memory-mib", o.memory_mib, "memory of each device to use; 0: all")
      .Range(int64_t{0}, int64_t{1} << 24);
  device.Add("--precision", o.precision, "exact, or fast where a device has it")
      .ShowDefault()
      .OneOf({"exact", "fast"});
  device
      .Add("--backproject-method", o.fdk.backproject_method,
           "of the backend, for fdk; another one lists them (default: its first of the "
           "precision)")
      .Type("NAME");
  device.AddSwitch("--print-plan", o.print_plan, "say how the work is divided and what it takes");
}

}  // namespace

void AddReconstructFlags(flags::Command command, ReconstructOptions& o) {
  const flags::Option grid = AddAcquisitionFlags(command, o.acquisition);
  command.Add("--out", o.out, "volume in HU, .mha, .mhd, .nii or .nii.gz").Required().Type("FILE");
  AddOverwriteFlag(command, o.overwrite);
  command.Add("--size", o.size, "without --grid: voxels per axis over the field of view")
      .ShowDefault()
      .Range(16, 2048)
      .Excludes(grid);
  command
      .Add("--algorithm", o.algorithm,
           "fdk: filtered back-projection; or an iterative one, which begins with it")
      .ShowDefault()
      .OneOf(AlgorithmChoices());
  o.json.AddFlag(command);
  AddFilterFlags(command.Under("Filter"), o);
  AddCorrectionFlags(command.Under("Corrections"), o);
  AddIterativeFlags(command, o.iterative);
  flags::Command iterations = command.Under(kIterativeGroup);
  iterations
      .Add("--curve", o.curve,
           "residual (what the volume does not explain of the frames) and objective of each pass: "
           ".csv or .png")
      .Type("FILE");
  iterations.Add("--deadline", o.deadline_seconds, "after how long no further pass begins; 0: none")
      .Seconds(0, 604800);
  AddGatingFlags(command.Under("Phases of a moving organ"), o.gating);
  AddDeviceFlags(command.Under("Device"), o);
}

recon::FdkSettings FdkOf(const ReconstructOptions& options) {
  recon::FdkSettings fdk = options.fdk;
  fdk.window = WindowNamed(options.window);
  fdk.truncation = TruncationNamed(options.truncation);
  fdk.precision = options.precision == "fast" ? ops::Precision::kFast : ops::Precision::kExact;
  return fdk;
}

}  // namespace isocenter::cli
