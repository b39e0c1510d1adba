// isocenter simulate: a phantom or a volume becomes an acquisition on disk.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/options/identity_checks.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/options/physics_file.h"
#include "client/cli/options/simulate_field.h"
#include "client/cli/options/simulate_flags.h"
#include "client/cli/options/simulate_trajectory.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/warning_printer.h"
#include "client/cli/output/warnings.h"
#include "client/cli/physics_frames.h"
#include "client/cli/rabbitct_data_set.h"
#include "client/cli/scatter_estimate.h"
#include "client/cli/simulate_outputs.h"
#include "client/cli/truth.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/bundle.h"
#include "client/formats/dicom/xa_writer.h"
#include "client/formats/file.h"
#include "client/formats/volume_input.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/geometry/geometry_fit.h"
#include "kernels/geometry/motion_curve.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/phantom/bead_phantom.h"
#include "kernels/phantom/moved_phantom.h"
#include "kernels/phantom/noise.h"
#include "kernels/phantom/phantom.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/geometry.h"
#include "proto/wire/header_numbers.h"
#include "proto/wire/header_texts.h"
#include "proto/wire/mistakes.h"

namespace isocenter::cli {
namespace {

double ScaleMm(const SimulateOptions& options) {
  return options.scale_mm.value_or(DefaultPhantomScaleMm(options.phantom));
}

/// Why a volume's values may be no HU: the middle of its lowest hundredth is air in any volume that
/// has some. Empty where they may.
std::string NoHounsfield(const std::vector<float>& voxels) {
  constexpr float kMostAir = -500, kMost = 20000;
  std::vector<float> sample;
  const size_t stride = std::max<size_t>(1, voxels.size() / 1'000'000);
  for (size_t i = 0; i < voxels.size(); i += stride) sample.push_back(voxels[i]);
  const auto at = [&](double share) {
    const auto place = sample.begin() +
                       static_cast<std::ptrdiff_t>(share * static_cast<double>(sample.size() - 1));
    std::ranges::nth_element(sample, place);
    return *place;
  };
  const float low = at(0.005), high = at(0.999);
  if (low <= kMostAir && high <= kMost) return "";
  return absl::StrFormat(
      "--volume has values of %g to %g, which are taken for HU; expected are air, at most %g, and "
      "nothing above %g: an offset of 1000 or 1024 makes air water, attenuations in 1/mm make all "
      "of "
      "it water",
      low, high, kMostAir, kMost);
}

absl::StatusOr<std::unique_ptr<phantom::Phantom>> OpenVolume(const SimulateOptions& options) {
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
  const auto unusable =
      std::ranges::find_if(volume.voxels, [](float hu) { return !std::isfinite(hu); });
  if (unusable != volume.voxels.end()) {
    return absl::InvalidArgumentError(absl::StrCat("--volume has ", *unusable, " at voxel ",
                                                   unusable - volume.voxels.begin(), " of ",
                                                   volume.voxels.size(), "; legal are finite HU"));
  }
  if (const std::string why = NoHounsfield(volume.voxels); !why.empty()) {
    PrintWarnings(std::vector<std::string>{why});
  }
  for (float& voxel : volume.voxels) {  // padding below air would shine
    voxel = static_cast<float>(kMuWaterPerMm * std::max(0.0, 1 + voxel / 1000.0));
  }
  return phantom::MakeVoxelPhantom(std::move(volume.voxels), volume.grid);
}

std::string ObjectName(const SimulateOptions& options) {
  if (!options.sweep.empty()) return options.sweep;
  if (!options.beads.empty()) {
    return absl::StrCat("beads-", std::filesystem::path(options.beads).filename().string());
  }
  return options.phantom.empty() ? std::filesystem::path(options.volume).filename().string()
                                 : options.phantom;
}

v1::AcquisitionHeader MakeHeader(const SimulateOptions& options, double i0_counts,
                                 const Detector& detector, const Trajectory& trajectory) {
  v1::AcquisitionHeader header;
  if (options.organ.moves()) {
    header.set_phase_cycle(options.organ.organ() == phantom::Organ::kHeart
                               ? v1::PHASE_CYCLE_CARDIAC
                               : v1::PHASE_CYCLE_RESPIRATORY);
  }
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
  if (options.phantom == "thorax") header.set_body_part_examined("CHEST");
  header.MergeFrom(options.system);
  return header;
}

/// `refused`: of the header, which lists the matrices that a file or flags have given.
absl::Status OfTrajectory(const absl::Status& refused, const std::string& kind) {
  if (refused.ok()) return refused;
  const std::string frame = absl::EndsWithIgnoreCase(kind, ".csv")
                                ? absl::StrCat("--trajectory ", kind, ", frame ")
                                : "the matrix of frame ";
  return absl::Status(
      refused.code(),
      absl::StrReplaceAll(refused.message(), {{"matrices.matrix[", frame}, {"]: ", ": "}}));
}

/// What a service would refuse is not written. Errors: INVALID_ARGUMENT, all at once, in the words
/// of the service, but for the trajectory.
absl::Status CheckForService(const v1::AcquisitionHeader& header, const std::string& trajectory) {
  wire::Mistakes mistakes;
  mistakes.Add(wire::CheckPrivateTexts(header));
  mistakes.Add(wire::CheckOtherTexts(header));
  mistakes.Add(wire::CheckTubeVoltage("tube_voltage_kv", header.tube_voltage_kv()));
  mistakes.Add(wire::CheckHeaderNumbers(header));
  mistakes.Add(OfTrajectory(wire::AcquisitionFromProto(header).status(), trajectory));
  return mistakes.AsStatus();
}

/// `frames` is nullptr without --physics.
formats::BundleDescription Describe(const SimulateOptions& options, const PhysicsFrames* frames) {
  formats::BundleDescription description{
      {"generator", "isocenter simulate"},
      {"trajectory", std::filesystem::path(options.trajectory.kind).filename().string()},
      {"mu_water_per_mm", absl::StrCat(kMuWaterPerMm)},
      {"photons", absl::StrCat(options.noise.photons)},
      {"electronic_counts", absl::StrCat(options.noise.electronic_counts)},
      {"seed", absl::StrCat(options.seed)},
      {"subsamples", absl::StrCat(options.subsamples)}};
  if (options.noise_seed) description["noise_seed"] = absl::StrCat(*options.noise_seed);
  if (frames != nullptr) {
    const PhysicsSetup& physics = frames->setup();
    const double kev = physics.effective_kev;
    description["physics"] = std::filesystem::path(options.physics).filename();
    description["effective_kev"] = absl::StrCat(kev);
    description["mu_water_per_mm"] =
        absl::StrCat(physics::LinearAttenuation(physics::KnownMaterial("water"), kev));
    description["photons"] = absl::StrCat(physics.detector.photons);
    description["electronic_counts"] = absl::StrCat(physics.detector.electronic_counts);
    if (frames->scatter_error()) {
      description["scatter_error"] = absl::StrCat(*frames->scatter_error());
    }
  }
  if (options.motion.moves()) {
    description["motion"] = std::filesystem::path(options.motion.kind).filename();
    description["truth_pose"] =
        options.motion.truth_frame ? absl::StrCat("frame ", *options.motion.truth_frame) : "rest";
  }
  if (options.organ.moves()) {
    description["organ_motion"] = options.organ.kind;
    description["cycles"] = absl::StrCat(options.organ.curve.cycles);
    description["truth_phase"] =
        options.organ.truth_phase ? absl::StrCat(*options.organ.truth_phase) : "rest";
  }
  if (!options.sweep.empty()) {
    description["sweep"] = options.sweep;
  } else if (!options.beads.empty()) {
    description["beads"] = std::filesystem::path(options.beads).filename();
  } else if (options.phantom.empty()) {
    description["volume"] = ObjectName(options);
  } else {
    description["phantom"] = options.phantom;
    description["scale_mm"] = absl::StrCat(ScaleMm(options));
  }
  return description;
}

/// --phantom thorax with the organ as it is in a phase.
std::unique_ptr<phantom::Phantom> ObjectInPhase(const SimulateOptions& options, double phase) {
  const phantom::Organ organ = options.organ.organ();
  return phantom::MakeThorax(ScaleMm(options), kMuWaterPerMm, organ,
                             phantom::Excursion(organ, phase));
}

/// `object` may be nullptr where there are `physics`. `phases`: of the frames, where an organ
/// moves.
absl::Status WriteFrames(const SimulateOptions& options, const phantom::Phantom* object,
                         PhysicsFrames* physics, const std::vector<float>& phases,
                         const Detector& detector, const Trajectory& trajectory,
                         formats::FrameSink& sink, ThreadPool& pool, const Interrupt& interrupt) {
  const Shape3 shape{1, detector.rows, detector.columns};
  std::vector<float> line_integrals(shape.count());
  std::vector<uint16_t> counts(options.pixel == "counts" ? shape.count() : 0);
  phantom::NoiseModel noise = options.noise;
  noise.seed = options.noise_seed.value_or(options.seed);
  ProgressBar bar("projections", "frames", static_cast<int64_t>(trajectory.size()));
  for (size_t view = 0; view < trajectory.size(); ++view) {
    if (interrupt.happened()) return flags::Interrupted("interrupted; no acquisition was written");
    if (physics != nullptr) {
      ISO_RETURN_IF_ERROR(physics->Next(options.subsamples, pool, counts));
    } else {
      std::unique_ptr<phantom::Phantom> moved;
      if (!phases.empty()) moved = ObjectInPhase(options, phases[view]);
      phantom::ProjectView(moved ? *moved : *object, trajectory[view], detector, options.subsamples,
                           pool, {line_integrals.data(), shape});
      if (!counts.empty()) {
        phantom::ToCounts(line_integrals, options.i0, noise, static_cast<int>(view), counts);
      }
    }
    ISO_RETURN_IF_ERROR(sink.Append(counts.empty() ? std::as_bytes(std::span(line_integrals))
                                                   : std::as_bytes(std::span(counts))));
    bar.Update(static_cast<int64_t>(view) + 1);
  }
  return sink.Finish();
}

absl::StatusOr<std::unique_ptr<phantom::Phantom>> OpenObject(const SimulateOptions& options) {
  if (!options.beads.empty()) {
    ISO_ASSIGN_OR_RETURN(const BeadTable table, FindBeadTable("--beads", options.beads));
    return phantom::MakeBeadPhantom(table, kMuWaterPerMm);
  }
  if (options.phantom.empty()) return OpenVolume(options);
  return phantom::MakePhantom(options.phantom, ScaleMm(options), kMuWaterPerMm);
}

absl::StatusOr<std::unique_ptr<formats::FrameSink>> CreateSink(
    const SimulateOptions& options, const std::string& format, const PhysicsFrames* frames,
    const std::vector<float>& phases, const Detector& detector, const Trajectory& trajectory) {
  const double i0_counts = frames != nullptr ? frames->setup().detector.signal_counts : options.i0;
  const v1::AcquisitionHeader header = MakeHeader(options, i0_counts, detector, trajectory);
  if (format == "dicom-xa") return formats::CreateXaRun(options.out, header, trajectory);
  if (format == "bundle") {
    return formats::CreateBundle(
        options.out, header, Describe(options, frames),
        frames == nullptr || !options.sweep.empty() ? std::vector<float>() : frames->told_doses(),
        phases);
  }
  const recon::Acquisition acquisition{.detector = detector,
                                       .pixel_type = options.pixel == "counts"
                                                         ? recon::PixelType::kUint16Counts
                                                         : recon::PixelType::kFloat32LineIntegrals,
                                       .i0_counts = i0_counts,
                                       .trajectory = trajectory};
  return CreateRabbitCtDataSet(options.out, acquisition, options.rabbitct);
}

/// Why a sweep of balls cannot be calibrated with, or nothing.
absl::StatusOr<std::optional<std::string>> BeadsWarning(const SimulateOptions& options,
                                                        const Detector& detector, size_t frames) {
  if (options.beads.empty()) return std::nullopt;
  ISO_ASSIGN_OR_RETURN(const BeadTable table, FindBeadTable("--beads", options.beads));
  const absl::Status legal =
      calibrate::CheckGeometrySweep(table, detector, static_cast<int>(frames));
  if (legal.ok()) return std::nullopt;
  return absl::StrCat("`isocenter calibrate geometry` refuses this sweep: ", legal.message());
}

/// What the flags cannot say of each other.
absl::StatusOr<std::optional<PhysicsSetup>> OpenPhysics(const SimulateOptions& options) {
  if (options.truth_materials && (options.physics.empty() || options.truth.empty())) {
    return flags::WrongUsage("--truth-materials needs --truth and --physics");
  }
  if (options.physics.empty()) {
    if (options.sweep.empty()) return std::nullopt;
    return flags::WrongUsage("--sweep needs --physics, which says what the detector is");
  }
  if (options.pixel != "counts") {
    return flags::WrongUsage(
        absl::StrCat("--pixel is ", options.pixel, "; legal with --physics is counts"));
  }
  if (!options.sweep.empty() && options.motion.moves()) {
    return flags::WrongUsage("--motion needs an object; in a --sweep there is none");
  }
  if (!options.sweep.empty() && !options.truth.empty()) {
    return flags::WrongUsage("--truth needs an object; in a --sweep there is none");
  }
  ISO_ASSIGN_OR_RETURN(PhysicsSetup physics, ReadPhysicsFile(options.physics, options.seed));
  physics.detector.noise_seed = options.noise_seed;
  return physics;
}

/// Of --physics; none without.
absl::StatusOr<std::optional<PhysicsFrames>> MakePhysicsFrames(
    const SimulateOptions& options, const phantom::Phantom* object, const Detector& detector,
    const Trajectory& trajectory, ThreadPool& pool, const Interrupt& interrupt) {
  ISO_ASSIGN_OR_RETURN(const std::optional<PhysicsSetup> physics, OpenPhysics(options));
  const bool scatters = physics && physics->scatter && object != nullptr;
  if (options.scatter_backend != "cpu" && !scatters) {
    return flags::WrongUsage(absl::StrCat("--backend ", options.scatter_backend,
                                          " needs an object and --physics with scatter, whose "
                                          "photons it follows; the rest is the CPU's"));
  }
  if (options.scatter_backend == "cpu" && options.scatter_memory_mib > 0) {
    return flags::WrongUsage("--memory-mib is the GPU's; legal with --backend cuda");
  }
  if (!physics) return std::nullopt;
  const Exposed exposed{.object = object,
                        .metal = options.volume.empty(),
                        .dark = options.sweep == "dark",
                        .step = options.sweep == "step"};
  absl::StatusOr<PhysicsFrames> frames =
      PhysicsFrames::Make(*physics, exposed, detector, trajectory);
  if (!frames.ok()) {
    return absl::Status(frames.status().code(),
                        absl::StrCat(options.physics, ": ", frames.status().message()));
  }
  if (scatters) {
    ISO_ASSIGN_OR_RETURN(
        formats::StoredScatter scatter,
        EstimateScatter({*physics, exposed, detector, trajectory, frames->beams().Open(),
                         options.scatter_backend, options.scatter_memory_mib << 20},
                        pool, interrupt));
    frames->SetScatter(std::move(scatter));
  }
  return *std::move(frames);
}

/// The volumes of --truth, of the object in the pose that they are to show.
absl::Status WriteTruthInPose(const SimulateOptions& options,
                              std::shared_ptr<const phantom::Phantom> object,
                              const PhysicsSetup* physics, const Detector& detector,
                              const Trajectory& trajectory, const std::vector<RigidPose>& poses,
                              ThreadPool& pool, const Interrupt& interrupt) {
  if (options.truth.empty()) return absl::OkStatus();
  if (options.organ.truth_phase) object = ObjectInPhase(options, *options.organ.truth_phase);
  if (options.motion.truth_frame) {
    object = std::make_shared<phantom::MovedPhantom>(std::move(object),
                                                     poses[*options.motion.truth_frame]);
  }
  return WriteTruth(options, *object, physics, detector, trajectory, pool, interrupt);
}

absl::Status WriteTables(const SimulateOptions& options, const Trajectory& trajectory,
                         const std::vector<RigidPose>& poses) {
  if (!options.matrices.empty()) {
    ISO_RETURN_IF_ERROR(formats::WriteText(options.matrices, TrajectoryCsv(trajectory)));
  }
  return options.motion.poses.empty() ? absl::OkStatus()
                                      : formats::WriteText(options.motion.poses, MotionText(poses));
}

absl::StatusOr<std::vector<float>> CheckedPhases(const SimulateOptions& options,
                                                 const std::string& format, size_t frames) {
  if (options.organ.moves() && options.phantom != "thorax") {
    return flags::WrongUsage(
        absl::StrCat("--organ-motion with ", ObjectName(options), "; legal is --phantom thorax"));
  }
  for (const auto& [flag, given] :
       {std::pair("--physics", !options.physics.empty()), {"--format", format != "bundle"}}) {
    if (!given || !options.organ.moves()) continue;
    return flags::WrongUsage(
        absl::StrCat("--organ-motion with ", flag, "; legal is a bundle of ideal frames"));
  }
  return OrganPhases(options.organ, static_cast<int>(frames));
}

absl::Status Simulate(const SimulateOptions& options) {
  ISO_RETURN_IF_ERROR(CheckIdentityFlags(options.study, options.system));
  ISO_RETURN_IF_ERROR(CheckManufacturer(options.system.equipment()));
  const absl::Time begin = absl::Now();
  const Interrupt interrupt;
  const Detector detector{.columns = options.detector[0],
                          .rows = options.detector[1],
                          .pitch_u_mm = options.pitch_mm,
                          .pitch_v_mm = options.pitch_mm};
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, MakeTrajectory(options.trajectory, detector));
  const std::string format = FormatOf(options);
  if (format == "dicom-xa") trajectory = formats::SeenFromDetector(trajectory, detector.columns);
  ISO_RETURN_IF_ERROR(CheckForService(MakeHeader(options, options.i0, detector, trajectory),
                                      options.trajectory.kind));
  ISO_RETURN_IF_ERROR(CheckOutputs(options, format, static_cast<int64_t>(trajectory.size())));
  WarningPrinter warnings;
  if (const auto text = ArcWarning(options.trajectory)) warnings.Print(*text);
  if (const auto text = DisplacementWarning(options.trajectory, trajectory)) warnings.Print(*text);
  ISO_ASSIGN_OR_RETURN(const std::vector<RigidPose> poses,
                       MotionPoses(options.motion, static_cast<int>(trajectory.size())));
  // Matrices of the object at rest: what the arm says stays as it is, and is written.
  ISO_ASSIGN_OR_RETURN(const Trajectory seen, SeenAtRest(trajectory, poses));
  ISO_ASSIGN_OR_RETURN(const std::vector<float> phases,
                       CheckedPhases(options, format, trajectory.size()));
  std::shared_ptr<phantom::Phantom> object;
  if (options.sweep.empty()) {
    ISO_ASSIGN_OR_RETURN(object, OpenObject(options));
    ISO_RETURN_IF_ERROR(CheckSourcesOutside(*object, seen));
    if (const auto text = CutWidthWarning(*object, seen, detector)) warnings.Print(*text);
    ISO_ASSIGN_OR_RETURN(const std::optional<std::string> unfit,
                         BeadsWarning(options, detector, trajectory.size()));
    if (unfit) warnings.Print(*unfit);
  }
  ThreadPool pool(UsableCores());
  ISO_ASSIGN_OR_RETURN(std::optional<PhysicsFrames> physics,
                       MakePhysicsFrames(options, object.get(), detector, seen, pool, interrupt));
  PhysicsFrames* const frames = physics ? &*physics : nullptr;
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<formats::FrameSink> sink,
                       CreateSink(options, format, frames, phases, detector, trajectory));
  ISO_RETURN_IF_ERROR(
      WriteFrames(options, object.get(), frames, phases, detector, seen, *sink, pool, interrupt));
  ISO_RETURN_IF_ERROR(WriteTables(options, trajectory, poses));
  ISO_RETURN_IF_ERROR(WriteTruthInPose(options, object, frames ? &frames->setup() : nullptr,
                                       detector, trajectory, poses, pool, interrupt));
  return ReportOutputs(options, format, static_cast<int64_t>(trajectory.size()),
                       absl::ToDoubleSeconds(absl::Now() - begin));
}

}  // namespace

void AddSimulateCommand(flags::Command program) {
  auto options = std::make_shared<SimulateOptions>();
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
      "  isocenter simulate --phantom head --out moved --motion smooth --motion-mm 4 --poses "
      "true.csv\n"
      "  isocenter simulate --phantom thorax --out heart --organ-motion heart --cycles 20\n"
      "  isocenter simulate --phantom head --out wide --trajectory circle --displace-px 120\n"
      "  isocenter simulate --beads helix --out beads --photons 30000 --matrices true.csv\n"
      "  isocenter simulate --sweep dark --out dark --physics room3.textproto --frames 100\n"
      "A bundle streams with `isocenter stream`. A RabbitCT data set is for the runner of that "
      "benchmark\nand libisocenter_rabbitct.so: its projections are filtered already.");

  AddSimulateFlags(command, *options);
  command.Does([options] { return Simulate(*options); });
}

}  // namespace isocenter::cli
