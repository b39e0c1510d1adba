#include "client/cli/options/simulate_flags.h"

#include <limits>

#include "client/cli/options/overwrite_flag.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/options/server_flags.h"
#include "kernels/geometry/motion_curve.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::cli {
namespace {

void AddObjectFlags(flags::Command command, SimulateOptions& o) {
  flags::Command object = command.OneOfThese("What is scanned");
  object.Add("--phantom", o.phantom, "analytic phantom with exact line integrals")
      .OneOf(phantom::PhantomNames());
  object
      .Add("--volume", o.volume,
           ".mha, .mhd, .nii, .nii.gz, .raw (HU) or the directory of a DICOM CT series; its "
           "middle is put into the isocentre")
      .Type("PATH");
  object
      .Add("--beads", o.beads,
           "phantom of steel balls in a tube, for `isocenter calibrate geometry`: helix, rings, or "
           "a table with x, y, z and diameter in mm on each line")
      .Type("helix|rings|FILE");
  object
      .Add("--sweep", o.sweep,
           "nothing: frames without X-rays (dark), without an object (flat), or flat ones and then "
           "as many dark ones (step), for --physics")
      .OneOf({"dark", "flat", "step"});
  command
      .Add("--scale-mm", o.scale_mm,
           "half edge of the cube that holds the phantom (default: fits the default geometry)")
      .Range(0.01, 1000.0);
  command.Add("--raw-shape", o.raw_shape, "voxels of a .raw volume")
      .Type("NXxNYxNZ")
      .Separator('x')
      .Count(3)
      .Range(1, 4096);
  command.Add("--raw-spacing", o.raw_spacing, "voxel size of a .raw volume in mm")
      .Type("X,Y,Z")
      .ShowDefault("1,1,1")
      .Separator(',')
      .Count(3)
      .Range(0.0001, 100.0);
  command.Add("--raw-type", o.raw_type, "voxel type of a .raw volume")
      .OneOf({"int16", "float32"})
      .ShowDefault();
}

void AddOutputFlags(flags::Command command, SimulateOptions& o) {
  command.Add("--out", o.out, "bundle directory, RabbitCT file or DICOM XA run to write")
      .Required()
      .Type("PATH");
  command
      .Add("--format", o.format,
           "what to write; rabbitct: filtered projections and reference volumes for the "
           "RabbitCT benchmark; dicom-xa: a rotational X-ray angiographic run (default: by "
           "the name, rabbitct for .rct and .rctd, dicom-xa for .dcm)")
      .OneOf({"bundle", "rabbitct", "dicom-xa"});
  AddOverwriteFlag(command, o.overwrite);
  o.json.AddFlag(command);
  command
      .Add("--rabbitct-size", o.rabbitct.reference_size,
           "largest problem size that a RabbitCT data set has a reference volume for")
      .ShowDefault()
      .OneOfNumbers({128, 256, 512, 1024});
  command
      .Add("--rabbitct-version", o.rabbitct.version,
           "layout of a RabbitCT data set: 1 for runners of 2009 to 2011 and for HPC-Dwarfs, "
           "2 for the runner of 2012")
      .ShowDefault()
      .OneOfNumbers({1, 2});
}

void AddGeometryFlags(flags::Command command, SimulateOptions& o) {
  command
      .Add("--trajectory", o.trajectory.kind,
           "circle (ideal, 360 degrees), carm (wobbles as a real arm, 200 degrees), orbits that "
           "leave the plane: sine, saddle, two-arcs, tilted, or a .csv of 3x4 matrices")
      .Type("circle|carm|sine|saddle|two-arcs|tilted|FILE")
      .ShowDefault();
  command.Add("--frames", o.trajectory.frames, "frames (default 248; .csv: all of the file)")
      .Range(2, 10000);
  command.Add("--start-deg", o.trajectory.start_deg, "angle of the first source position")
      .ShowDefault()
      .Range(-36000.0, 36000.0);
  command
      .Add("--arc-deg", o.trajectory.arc_deg,
           "signed angle from first to last frame, not 0; 360 is a closed circle")
      .Range(-720.0, 720.0)
      .NotZero();
  command
      .Add("--sweep-deg", o.trajectory.sweep_deg,
           "how far the source of a sine, saddle or two-arcs goes above and below the plane, or a "
           "tilted orbit is turned about x (default 10)")
      .Range(0.0, 60.0);
  command.Add("--sweep-periods", o.trajectory.sweep_periods, "of a sine over its arc (default 2)")
      .Range(0.25, 20.0);
  command.Add("--sid-mm", o.trajectory.sid_mm, "source-to-isocentre distance, from 100 on")
      .ShowDefault()
      .Range(1.0, 10000.0);
  command.Add("--sdd-mm", o.trajectory.sdd_mm, "source-to-detector distance, above --sid-mm")
      .ShowDefault()
      .Range(1.0, 20000.0);
  command
      .Add("--displace-px", o.trajectory.displacement_px,
           "move the image along the detector's rows, as a detector that stands beside the middle "
           "does to see more of the patient on a full turn")
      .ShowDefault()
      .Range(-8192.0, 8192.0);
  command.Add("--wobble", o.trajectory.wobble, "size of the C-arm's deviations; 1 is typical")
      .ShowDefault()
      .Range(0.0, 10.0);
  command
      .Add("--drift-mm", o.trajectory.drift_mm,
           "how far the arm has moved at the last frame, evenly from the first on")
      .Type("X,Y,Z")
      .ShowDefault("0,0,0")
      .Separator(',')
      .Count(3)
      .Range(-100.0, 100.0);
  command
      .Add("--binning", o.trajectory.binning,
           "the matrices of the .csv are for N x N times finer pixels than --detector")
      .ShowDefault()
      .Range(1, 16);
  command.Add("--detector", o.detector, "columns x rows")
      .Separator('x')
      .Count(2)
      .Type("COLUMNSxROWS")
      .ShowDefault("620x480")
      .Range(1, 8192);
  command.Add("--pitch-mm", o.pitch_mm, "pixel pitch").ShowDefault().Range(0.0001, 10.0);
  command
      .Add("--subsamples", o.subsamples, "rays per pixel and axis; points per truth voxel and axis")
      .ShowDefault()
      .Range(1, 16);
}

void AddPixelFlags(flags::Command command, SimulateOptions& o) {
  command.Add("--pixel", o.pixel, "what a pixel holds")
      .OneOf({"counts", "line-integrals"})
      .ShowDefault();
  const flags::Option i0 = command.Add("--i0", o.i0, "counts of an unattenuated pixel")
                               .ShowDefault()
                               .Range(1.0, 65535.0);
  const flags::Option photons =
      command.Add("--photons", o.noise.photons, "photons per unattenuated pixel; 0 is noise-free")
          .ShowDefault()
          .Range(0.0, 1e12);
  const flags::Option electronic = command
                                       .Add("--electronic-counts", o.noise.electronic_counts,
                                            "standard deviation of the read-out noise in counts")
                                       .ShowDefault()
                                       .Range(0.0, 65535.0);
  command
      .Add("--physics", o.physics,
           "X-rays of many energies and a detector with faults, as this file says "
           "(docs/physics.md), in place of --i0, --photons and --electronic-counts")
      .Type("FILE")
      .Excludes(i0)
      .Excludes(photons)
      .Excludes(electronic);
  command
      .Add("--backend", o.scatter_backend,
           "what follows the photons of the scatter of --physics: cpu, or cuda, a GPU")
      .ShowDefault()
      .OneOf({"cpu", "cuda"});
  command.Add("--memory-mib", o.scatter_memory_mib, "memory of the GPU to use; 0: all")
      .Range(int64_t{0}, int64_t{1} << 24);
  command
      .AddSetter<uint64_t>(
          "--seed",
          [&o](uint64_t seed) {
            o.seed = seed;
            o.trajectory.seed = seed;
            o.motion.seed = seed;
            o.organ.curve.seed = seed;
          },
          "of noise, wobble, motion, cycles and the detector's faults (default 1)")
      .Range(uint64_t{0}, std::numeric_limits<uint64_t>::max());
  command
      .AddSetter<uint64_t>(
          "--noise-seed", [&o](uint64_t seed) { o.noise_seed = seed; },
          "of noise and doses alone: another scan by the same detector and arm (default: --seed)")
      .Range(uint64_t{0}, std::numeric_limits<uint64_t>::max());
}

/// What is known of the object and of the arm, for comparison.
void AddTruthFlags(flags::Command command, SimulateOptions& o) {
  command
      .Add("--matrices", o.matrices,
           "also write the matrices to this .csv, as a calibration would deliver them")
      .Type("FILE");
  command
      .Add("--truth", o.truth,
           "also write the object in HU to this file: .mha, .mhd, .nii, .nii.gz")
      .Type("FILE");
  command.AddSwitch("--truth-materials", o.truth_materials,
                    "beside --truth, with --physics: also volumes of water, bone and titanium in "
                    "NAME-water.mha and so on, as shares of 1 at their own density");
  command.Add("--truth-size", o.truth_size, "voxels per axis of the truth")
      .ShowDefault()
      .Range(1, 4096);
  command
      .Add("--truth-voxel-mm", o.truth_voxel_mm,
           "voxel size of the truth (default: the field of view fills the grid)")
      .Range(0.0001, 100.0);
}

void AddMotionFlags(flags::Command command, MotionChoice& o) {
  command
      .Add("--motion", o.kind,
           "the object moves as a whole: a table of poses over the scan (docs/formats/motion.md), "
           "or by --seed all the time (smooth), once (jolt), to and fro (periodic)")
      .Type("FILE|smooth|jolt|periodic");
  command.Add("--motion-mm", o.shift_mm, "longest shift of a motion that is no file")
      .ShowDefault()
      .Range(0.0, 0.99 * kMostShiftMm);
  command.Add("--motion-deg", o.turn_deg, "largest turn about the isocentre of such a motion")
      .ShowDefault()
      .Range(0.0, 0.99 * kMostTurnDeg);
  command
      .Add("--poses", o.poses,
           "also write the pose of each frame, as --motion reads them, to this .csv")
      .Type("FILE");
  command
      .Add("--truth-frame", o.truth_frame,
           "the truth has the object's pose in this frame, from 0 (default: its pose at rest)")
      .Range(0, 9999);
}

void AddOrganFlags(flags::Command command, OrganChoice& o) {
  command
      .Add("--organ-motion", o.kind,
           "an organ of --phantom thorax moves in cycles, and each frame tells its phase: the "
           "beating heart, or the diaphragm of who breathes (docs/moving-organs.md)")
      .OneOf({"heart", "breathing"});
  command.Add("--cycles", o.curve.cycles, "of the organ in the scan")
      .ShowDefault()
      .Range(0.5, 1000.0);
  command
      .Add("--irregular", o.curve.irregular,
           "standard deviation of a cycle's length over their mean")
      .ShowDefault()
      .Range(0.0, 0.3);
  command
      .Add("--truth-phase", o.truth_phase,
           "the truth has the organ as in this phase, 0 to less than 1 (default: at rest)")
      .Range(0.0, 0.999999);
}

}  // namespace

void AddSimulateFlags(flags::Command command, SimulateOptions& options) {
  AddObjectFlags(command.Under("Object"), options);
  AddOutputFlags(command.Under("Output"), options);
  AddTruthFlags(command.Under("Output"), options);
  AddGeometryFlags(command.Under("Arm and detector"), options);
  AddPixelFlags(command.Under("Pixels and noise"), options);
  AddMotionFlags(command.Under("Motion of the object"), options.motion);
  AddOrganFlags(command.Under("Motion of an organ"), options.organ);
  AddPatientFlags(command, options.study);
  AddXraySystemFlags(command, options.system);
}

}  // namespace isocenter::cli
