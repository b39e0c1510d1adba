// isocenter simulate: a phantom or a volume becomes an acquisition on disk.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/options/physics_file.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/simulate_trajectory.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/physics_frames.h"
#include "client/cli/rabbitct_data_set.h"
#include "client/formats/bundle.h"
#include "client/formats/destination.h"
#include "client/formats/dicom/xa_writer.h"
#include "client/formats/meta_image.h"
#include "client/formats/volume_input.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/phantom/noise.h"
#include "kernels/phantom/phantom.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {
namespace {

constexpr int kTruthSlab = 8;         // slices that are in memory at once
constexpr double kDefaultI0 = 60000;  // leaves room for the noise of unattenuated pixels

struct Options {
  std::string phantom;
  std::optional<double> scale_mm;
  std::string volume;
  std::vector<int> raw_shape;
  std::vector<double> raw_spacing{1, 1, 1};
  std::string raw_type = "int16";
  std::string sweep;  // "dark" or "flat": nothing is in the beam

  std::string out;
  std::string format;  // empty: by the ending of `out`
  RabbitCtChoice rabbitct;
  TrajectoryChoice trajectory;
  std::vector<int> detector{620, 480};
  double pitch_mm = 0.616;
  std::string pixel = "counts";
  double i0 = kDefaultI0;
  phantom::NoiseModel noise;
  std::string physics;
  int subsamples = 1;

  std::string matrices;
  std::string truth;
  int truth_size = 256;
  double truth_voxel_mm = 0;  // 0: from the field of view

  v1::PatientStudy study;
  v1::AcquisitionHeader system;  // only what is not empty counts
};

double ScaleMm(const Options& options) {
  return options.scale_mm.value_or(DefaultPhantomScaleMm(options.phantom));
}

absl::StatusOr<std::unique_ptr<phantom::Phantom>> OpenVolume(const Options& options) {
  std::optional<formats::RawLayout> layout;
  if (!options.raw_shape.empty()) {
    layout = formats::RawLayout{
        .nx = options.raw_shape[0],
        .ny = options.raw_shape[1],
        .nz = options.raw_shape[2],
        .spacing = {options.raw_spacing[0], options.raw_spacing[1], options.raw_spacing[2]},
        .type = options.raw_type == "int16" ? formats::ElementType::kInt16
                                            : formats::ElementType::kFloat32};
  }
  ISO_ASSIGN_OR_RETURN(formats::Volume volume, formats::ReadVolume(options.volume, layout));
  formats::CenterAtIsocenter(volume.grid);
  for (float& voxel : volume.voxels) {  // padding below air would shine
    voxel = static_cast<float>(kMuWaterPerMm * std::max(0.0, 1 + voxel / 1000.0));
  }
  return phantom::MakeVoxelPhantom(std::move(volume.voxels), volume.grid);
}

std::string ObjectName(const Options& options) {
  if (!options.sweep.empty()) return options.sweep;
  return options.phantom.empty() ? std::filesystem::path(options.volume).filename().string()
                                 : options.phantom;
}

v1::AcquisitionHeader MakeHeader(const Options& options, double i0_counts, const Detector& detector,
                                 const Trajectory& trajectory) {
  v1::AcquisitionHeader header;
  v1::PatientStudy& study = *header.mutable_patient_study();
  std::string name = ObjectName(options);
  if (!name.empty()) name[0] = absl::ascii_toupper(name[0]);
  study.set_patient_name(absl::StrCat("Phantom^", options.volume.empty() ? name : "Volume"));
  study.set_patient_id("SIMULATED");
  study.set_patient_sex("O");
  study.set_study_description("Simulated acquisition");
  for (const auto& [given, field] :
       {std::pair{&options.study.patient_name(), study.mutable_patient_name()},
        std::pair{&options.study.patient_id(), study.mutable_patient_id()},
        std::pair{&options.study.accession_number(), study.mutable_accession_number()},
        std::pair{&options.study.study_description(), study.mutable_study_description()}}) {
    if (!given->empty()) *field = *given;
  }
  *header.mutable_detector() = wire::ToProto(detector);
  const bool counts = options.pixel == "counts";
  header.set_pixel_type(counts ? v1::PIXEL_TYPE_UINT16_COUNTS
                               : v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  if (counts) header.set_i0_counts(i0_counts);
  header.set_frame_count(static_cast<uint32_t>(trajectory.size()));
  for (const ProjectionMatrix& matrix : trajectory) {
    *header.mutable_matrices()->add_matrix() = wire::ToProto(matrix);
  }
  header.set_station_name("simulator");
  if (options.phantom == "head") header.set_body_part_examined("HEAD");
  header.MergeFrom(options.system);
  return header;
}

formats::BundleDescription Describe(const Options& options,
                                    const std::optional<PhysicsSetup>& physics) {
  formats::BundleDescription description{
      {"generator", "isocenter simulate"},
      {"trajectory", std::filesystem::path(options.trajectory.kind).filename().string()},
      {"mu_water_per_mm", absl::StrCat(kMuWaterPerMm)},
      {"photons", absl::StrCat(options.noise.photons)},
      {"electronic_counts", absl::StrCat(options.noise.electronic_counts)},
      {"seed", absl::StrCat(options.noise.seed)},
      {"subsamples", absl::StrCat(options.subsamples)}};
  if (physics) {
    const double kev = physics->effective_kev;
    description["physics"] = std::filesystem::path(options.physics).filename();
    description["effective_kev"] = absl::StrCat(kev);
    description["mu_water_per_mm"] =
        absl::StrCat(physics::LinearAttenuation(physics::KnownMaterial("water"), kev));
    description["photons"] = absl::StrCat(physics->detector.photons);
    description["electronic_counts"] = absl::StrCat(physics->detector.electronic_counts);
  }
  if (!options.sweep.empty()) {
    description["sweep"] = options.sweep;
  } else if (options.phantom.empty()) {
    description["volume"] = ObjectName(options);
  } else {
    description["phantom"] = options.phantom;
    description["scale_mm"] = absl::StrCat(ScaleMm(options));
  }
  return description;
}

absl::Status WriteTruth(const Options& options, const phantom::Phantom& object,
                        const VolumeGrid& grid, ThreadPool& pool, const Interrupt& interrupt) {
  ISO_ASSIGN_OR_RETURN(formats::MetaImageWriter writer,
                       formats::MetaImageWriter::Create(options.truth, grid));
  ProgressBar bar("truth", "slices", grid.nz);
  std::vector<float> voxels;
  for (int z = 0; z < grid.nz; z += kTruthSlab) {
    if (interrupt.happened()) return absl::CancelledError("interrupted; no truth was written");
    VolumeGrid slab = grid;
    slab.nz = std::min(kTruthSlab, grid.nz - z);
    slab.origin = grid.VoxelToWorld(0, 0, z);
    voxels.resize(slab.voxels());
    phantom::Rasterize(object, slab, kMuWaterPerMm, options.subsamples, pool,
                       {voxels.data(), slab.shape()});
    ISO_RETURN_IF_ERROR(writer.Append(voxels));
    bar.Update(z + slab.nz);
  }
  return writer.Finish();
}

/// `object` may be nullptr where there are `physics`.
absl::Status WriteFrames(const Options& options, const phantom::Phantom* object,
                         PhysicsFrames* physics, const Detector& detector,
                         const Trajectory& trajectory, formats::FrameSink& sink, ThreadPool& pool,
                         const Interrupt& interrupt) {
  const Shape3 shape{1, detector.rows, detector.columns};
  std::vector<float> line_integrals(shape.count());
  std::vector<uint16_t> counts(options.pixel == "counts" ? shape.count() : 0);
  ProgressBar bar("projections", "frames", static_cast<int64_t>(trajectory.size()));
  for (size_t view = 0; view < trajectory.size(); ++view) {
    if (interrupt.happened())
      return absl::CancelledError("interrupted; no acquisition was written");
    if (physics != nullptr) {
      physics->Next(trajectory[view], options.subsamples, pool, counts);
    } else {
      phantom::ProjectView(*object, trajectory[view], detector, options.subsamples, pool,
                           {line_integrals.data(), shape});
      if (!counts.empty()) {
        phantom::ToCounts(line_integrals, options.i0, options.noise, static_cast<int>(view),
                          counts);
      }
    }
    ISO_RETURN_IF_ERROR(sink.Append(counts.empty() ? std::as_bytes(std::span(line_integrals))
                                                   : std::as_bytes(std::span(counts))));
    bar.Update(static_cast<int64_t>(view) + 1);
  }
  return sink.Finish();
}

std::string FormatOf(const Options& options) {
  if (!options.format.empty()) return options.format;
  const std::filesystem::path ending = std::filesystem::path(options.out).extension();
  if (ending == ".rct" || ending == ".rctd") return "rabbitct";
  return ending == ".dcm" ? "dicom-xa" : "bundle";
}

/// What is written, by its format, as far as it can be told before: of a RabbitCT data set the
/// volumes, too, and of a bundle the frames.
absl::Status CheckOutputs(const Options& options, const std::string& format, int64_t frames) {
  const uint64_t pixel_bytes = options.pixel == "counts" && format != "rabbitct" ? 2 : 4;
  formats::Destination out{
      .flag = "--out", .path = options.out, .inputs = {options.volume, options.physics}};
  out.bytes = pixel_bytes * options.detector[0] * options.detector[1] * frames;
  if (format == "bundle") {
    ISO_RETURN_IF_ERROR(formats::CheckDirectoryDestination(out));
  } else {
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(out));
  }
  if (!options.matrices.empty()) {
    ISO_RETURN_IF_ERROR(
        formats::CheckFileDestination({.flag = "--matrices",
                                       .path = options.matrices,
                                       .endings = {".csv"},
                                       .inputs = {options.trajectory.kind, options.physics}}));
  }
  if (options.truth.empty()) return absl::OkStatus();
  const auto size = static_cast<uint64_t>(options.truth_size);
  return formats::CheckFileDestination({.flag = "--truth",
                                        .path = options.truth,
                                        .endings = {".mha", ".mhd"},
                                        .bytes = size * size * size * sizeof(float),
                                        .inputs = {options.volume, options.physics}});
}

absl::StatusOr<std::unique_ptr<phantom::Phantom>> OpenObject(const Options& options) {
  if (options.phantom.empty()) return OpenVolume(options);
  return phantom::MakePhantom(options.phantom, ScaleMm(options), kMuWaterPerMm);
}

absl::StatusOr<std::unique_ptr<formats::FrameSink>> CreateSink(
    const Options& options, const std::string& format, const std::optional<PhysicsSetup>& physics,
    const Detector& detector, const Trajectory& trajectory) {
  const double i0_counts = physics ? physics->detector.signal_counts : options.i0;
  const v1::AcquisitionHeader header = MakeHeader(options, i0_counts, detector, trajectory);
  if (format == "dicom-xa") return formats::CreateXaRun(options.out, header, trajectory);
  if (format == "bundle") {
    return formats::CreateBundle(options.out, header, Describe(options, physics));
  }
  const recon::Acquisition acquisition{.detector = detector,
                                       .pixel_type = options.pixel == "counts"
                                                         ? recon::PixelType::kUint16Counts
                                                         : recon::PixelType::kFloat32LineIntegrals,
                                       .i0_counts = i0_counts,
                                       .trajectory = trajectory};
  return CreateRabbitCtDataSet(options.out, acquisition, options.rabbitct);
}

absl::StatusOr<VolumeGrid> TruthGrid(const Options& options, const Detector& detector,
                                     const Trajectory& trajectory) {
  if (options.truth_voxel_mm == 0) return AutoGrid(trajectory, detector, options.truth_size);
  const double s = options.truth_voxel_mm;
  return CenteredGrid(options.truth_size, options.truth_size, options.truth_size, {s, s, s});
}

/// What the flags cannot say of each other.
absl::StatusOr<std::optional<PhysicsSetup>> OpenPhysics(const Options& options) {
  if (options.physics.empty()) {
    if (options.sweep.empty()) return std::nullopt;
    return absl::InvalidArgumentError("--sweep needs --physics, which says what the detector is");
  }
  if (options.pixel != "counts") {
    return absl::InvalidArgumentError(
        absl::StrCat("--pixel is ", options.pixel, "; legal with --physics is counts"));
  }
  if (!options.sweep.empty() && !options.truth.empty()) {
    return absl::InvalidArgumentError("--truth needs an object; in a --sweep there is none");
  }
  return ReadPhysicsFile(options.physics, options.noise.seed);
}

absl::Status Simulate(const Options& options) {
  const Interrupt interrupt;
  const Detector detector{.columns = options.detector[0],
                          .rows = options.detector[1],
                          .pitch_u_mm = options.pitch_mm,
                          .pitch_v_mm = options.pitch_mm};
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, MakeTrajectory(options.trajectory, detector));
  const std::string format = FormatOf(options);
  if (format == "dicom-xa") trajectory = formats::SeenFromDetector(trajectory, detector.columns);
  ISO_RETURN_IF_ERROR(CheckOutputs(options, format, static_cast<int64_t>(trajectory.size())));
  ISO_ASSIGN_OR_RETURN(const std::optional<PhysicsSetup> physics, OpenPhysics(options));
  std::unique_ptr<phantom::Phantom> object;
  if (options.sweep.empty()) {
    ISO_ASSIGN_OR_RETURN(object, OpenObject(options));
  }
  std::optional<PhysicsFrames> frames;
  if (physics) {
    const Exposed exposed{
        .object = object.get(), .metal = !options.phantom.empty(), .dark = options.sweep == "dark"};
    ISO_ASSIGN_OR_RETURN(frames, PhysicsFrames::Make(*physics, exposed, detector,
                                                     static_cast<int>(trajectory.size())));
  }
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<formats::FrameSink> sink,
                       CreateSink(options, format, physics, detector, trajectory));
  if (!options.matrices.empty()) {
    ISO_RETURN_IF_ERROR(formats::WriteText(options.matrices, TrajectoryCsv(trajectory)));
  }
  ThreadPool pool(UsableCores());
  if (!options.truth.empty()) {
    ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, TruthGrid(options, detector, trajectory));
    ISO_RETURN_IF_ERROR(WriteTruth(options, *object, grid, pool, interrupt));
  }
  return WriteFrames(options, object.get(), frames ? &*frames : nullptr, detector, trajectory,
                     *sink, pool, interrupt);
}

void AddObjectFlags(flags::Command command, Options& o) {
  flags::Command object = command.OneOfThese("Object");
  object.Add("--phantom", o.phantom, "analytic phantom with exact line integrals")
      .OneOf(phantom::PhantomNames());
  object
      .Add("--volume", o.volume,
           ".mha, .mhd, .nii, .nii.gz, .raw (HU) or the directory of a DICOM CT series; its "
           "middle is put into the isocentre")
      .Type("PATH");
  object
      .Add("--sweep", o.sweep,
           "nothing: frames without X-rays (dark) or without an object (flat), for --physics")
      .OneOf({"dark", "flat"});
  command
      .Add("--scale-mm", o.scale_mm,
           "half edge of the cube that holds the phantom (default: fits the default geometry)")
      .Range(1.0, 1000.0);
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
      .Range(0.001, 100.0);
  command.Add("--raw-type", o.raw_type, "voxel type of a .raw volume")
      .OneOf({"int16", "float32"})
      .ShowDefault();
}

void AddOutputFlags(flags::Command command, Options& o) {
  command.Add("--out", o.out, "bundle directory, RabbitCT file or DICOM XA run to write")
      .Required()
      .Type("PATH");
  command
      .Add("--format", o.format,
           "what to write; rabbitct: filtered projections and reference volumes for the "
           "RabbitCT benchmark; dicom-xa: a rotational X-ray angiographic run (default: by "
           "the name, rabbitct for .rct and .rctd, dicom-xa for .dcm)")
      .OneOf({"bundle", "rabbitct", "dicom-xa"});
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

void AddGeometryFlags(flags::Command command, Options& o) {
  command
      .Add("--trajectory", o.trajectory.kind,
           "circle (ideal, 360 degrees), carm (wobbles as a real arm, 200 degrees) or a .csv of "
           "3x4 matrices")
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
  command.Add("--sid-mm", o.trajectory.sid_mm, "source-to-isocentre distance")
      .ShowDefault()
      .Range(10.0, 10000.0);
  command.Add("--sdd-mm", o.trajectory.sdd_mm, "source-to-detector distance, above --sid-mm")
      .ShowDefault()
      .Range(10.0, 20000.0);
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
  command.Add("--pitch-mm", o.pitch_mm, "pixel pitch").ShowDefault().Range(0.001, 10.0);
  command
      .Add("--subsamples", o.subsamples, "rays per pixel and axis; points per truth voxel and axis")
      .ShowDefault()
      .Range(1, 16);
}

void AddPixelFlags(flags::Command command, Options& o) {
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
      .AddSetter<uint64_t>(
          "--seed",
          [&o](uint64_t seed) {
            o.noise.seed = seed;
            o.trajectory.seed = seed;
          },
          "of noise, wobble and the detector's faults (default 1)")
      .Range(uint64_t{0}, std::numeric_limits<uint64_t>::max());
}

/// What is known of the object and of the arm, for comparison.
void AddTruthFlags(flags::Command command, Options& o) {
  command
      .Add("--matrices", o.matrices,
           "also write the matrices to this .csv, as a calibration would deliver them")
      .Type("FILE");
  command.Add("--truth", o.truth, "also write the object in HU to this .mha").Type("FILE");
  command.Add("--truth-size", o.truth_size, "voxels per axis of the truth")
      .ShowDefault()
      .Range(1, 4096);
  command
      .Add("--truth-voxel-mm", o.truth_voxel_mm,
           "voxel size of the truth (default: the field of view fills the grid)")
      .Range(0.001, 100.0);
}

}  // namespace

void AddSimulateCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command =
      program.Subcommand("simulate", "Project a phantom or a volume into an acquisition");
  command.Footer(
      "Examples:\n"
      "  isocenter simulate --phantom shepp-logan --out sl --truth truth.mha\n"
      "  isocenter simulate --volume ct_series/ --out head --photons 30000 --electronic-counts 8\n"
      "  isocenter simulate --phantom head --trajectory measured.csv --binning 2 --out measured\n"
      "  isocenter simulate --phantom head --format rabbitct --out head.rct --frames 496 \\\n"
      "      --detector 1248x960 --pitch-mm 0.32 --rabbitct-size 512\n"
      "  isocenter simulate --phantom head --out run.dcm --matrices run.csv\n"
      "  isocenter simulate --phantom head --out raw --physics room3.textproto\n"
      "  isocenter simulate --sweep dark --out dark --physics room3.textproto --frames 100\n"
      "A bundle streams with `isocenter stream`. A RabbitCT data set is for the runner of that "
      "benchmark\nand libisocenter_rabbitct.so: its projections are filtered already.");

  AddObjectFlags(command, o);
  AddOutputFlags(command, o);
  AddGeometryFlags(command, o);
  AddPixelFlags(command, o);
  AddTruthFlags(command, o);
  AddPatientFlags(command, o.study);
  AddXraySystemFlags(command, o.system);
  command.Does([options] { return Simulate(*options); });
}

}  // namespace isocenter::cli
