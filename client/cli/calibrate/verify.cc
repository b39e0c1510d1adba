// isocenter calibrate verify: whether the whole of a set makes water of water.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/output/warnings.h"
#include "client/formats/acquisition_input.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/cylinder_fit.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/ops/calibration_scope.h"
#include "kernels/quality/water_cylinder.h"
#include "kernels/recon/completeness/whole_scan.h"
#include "kernels/recon/reconstructor.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/calibration.h"
#include "proto/wire/verification.h"

namespace isocenter::cli {
namespace {

struct Options {
  std::string scan;
  double diameter_mm = 0;
  double tolerance_hu = 10;
  IntoSet set;
};

/// What a service would make of the scan with the set, around the isocenter's plane.
struct Slab {
  VolumeGrid grid;
  std::vector<float> voxels;
  std::vector<std::string> warnings;
};

/// Cubic voxels of the whole field of view, but within calibrate::kHalfSlabMm of the plane alone.
absl::StatusOr<VolumeGrid> SlabGrid(const recon::Acquisition& acquisition) {
  constexpr int kSize = 256;
  ISO_ASSIGN_OR_RETURN(VolumeGrid grid,
                       AutoGrid(acquisition.trajectory, acquisition.detector, kSize));
  const double mm = grid.spacing.z;
  const int half = static_cast<int>(calibrate::kHalfSlabMm / mm);
  grid.nz = 2 * half + 1;
  grid.origin.z = -half * mm;
  return grid;
}

absl::StatusOr<Slab> Reconstruct(const Options& options, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(const auto source, formats::OpenAcquisition(options.scan, {}, std::nullopt));
  ISO_ASSIGN_OR_RETURN(recon::Acquisition acquisition,
                       wire::AcquisitionFromProto(source->header()));
  acquisition.calibration = std::make_shared<const ops::Calibration>(calibration);
  Slab slab{.warnings = source->warnings()};
  ISO_ASSIGN_OR_RETURN(slab.grid, SlabGrid(acquisition));
  ISO_ASSIGN_OR_RETURN(const auto device, Backends().OpenDevice("cpu", {}));
  ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan plan,
                       recon::MakePlan(acquisition, slab.grid, {}, Backends(), *device));
  ISO_ASSIGN_OR_RETURN(const LocalFrames frames, LocalFrames::Read(*source));
  for (std::string& found :
       recon::ScanFindings({acquisition, frames.view(), frames.doses()}).texts) {
    slab.warnings.push_back(std::move(found));
  }
  slab.voxels.resize(slab.grid.voxels());
  ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                       recon::Reconstructor::Create(plan, Backends(), *device));
  ISO_RETURN_IF_ERROR(
      reconstructor->Run(frames.view(), {slab.voxels.data(), slab.grid.shape()}, frames.doses()));
  return slab;
}

calibrate::Figures FiguresOf(const quality::WaterCylinder& seen, double tolerance_hu) {
  const double of_air = wire::kAirTolerances * tolerance_hu;
  return {{"water", seen.water_hu, "HU", calibrate::Within(tolerance_hu)},
          {"cupping", seen.cupping_hu, "HU", calibrate::Within(tolerance_hu)},
          {"border less middle", seen.border_hu, "HU", calibrate::Within(tolerance_hu)},
          {"air", seen.air_hu, "HU", absl::StrFormat("%g to %g", -1000 - of_air, -1000 + of_air)},
          {"noise", seen.noise_hu, "HU"}};
}

absl::Status Judge(const quality::WaterCylinder& seen, const calibrate::Figures& figures,
                   double tolerance_hu) {
  const double off[] = {seen.water_hu, seen.cupping_hu, seen.border_hu,
                        (seen.air_hu + 1000) / wire::kAirTolerances};
  for (size_t i = 0; i < std::size(off); ++i) {
    if (std::abs(off[i]) <= tolerance_hu) continue;
    return calibrate::NotGoodEnough(
        figures[i], absl::StrCat(figures[i].limit, " HU"),
        "the set does not make water of this scan: is it of the set's beam, with nothing but the "
        "cylinder in it? Else a part is wrong; docs/calibrating.md, \"Verifying\", says which part "
        "moves which figure");
  }
  return absl::OkStatus();
}

/// Why the scan says little of the set: it may be the one that the water polynomial was fitted to,
/// which makes water of that however wrong it is elsewhere; nothing where it is another.
std::optional<std::string> SameCylinderText(const quality::WaterCylinder& seen, double diameter_mm,
                                            const ops::Calibration& calibration) {
  constexpr double kSame = 0.01, kBesideMm = 10;
  const double aside = std::hypot(seen.x_mm, seen.y_mm);
  if (aside > kBesideMm ||
      std::abs(calibration.water.thickest_mm - diameter_mm) > kSame * diameter_mm) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "the cylinder is as wide as that which the water polynomial was fitted to (%.0f mm of "
      "water), and its axis is %.1f mm from the isocentre: water is made of such a scan by a set "
      "that fails with others, and lag is not seen; expected is another diameter, or the cylinder "
      "more than %g mm aside",
      calibration.water.thickest_mm, aside, kBesideMm);
}

/// As the set is to keep it.
v1::Verification VerificationOf(const Options& options, const quality::WaterCylinder& seen,
                                absl::Time now) {
  v1::Verification verification;
  wire::SetTime(now, *verification.mutable_time());
  const std::filesystem::path path(options.scan);
  verification.set_scan((path.has_filename() ? path : path.parent_path()).filename().string());
  verification.set_diameter_mm(options.diameter_mm);
  verification.set_tolerance_hu(options.tolerance_hu);
  verification.set_water_hu(seen.water_hu);
  verification.set_cupping_hu(seen.cupping_hu);
  verification.set_border_hu(seen.border_hu);
  verification.set_air_hu(seen.air_hu);
  verification.set_noise_hu(seen.noise_hu);
  return verification;
}

absl::Status Verify(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckInto(options.set, {options.scan}));
  ISO_ASSIGN_OR_RETURN(OpenedSet opened, OpenInto(options.set));
  const absl::Time now = absl::Now();
  const ops::Validity validity{wire::TimeFromProto(opened.set.valid_from()),
                               wire::TimeFromProto(opened.set.valid_until())};
  if (!validity.Has(now)) {
    return absl::FailedPreconditionError(
        absl::StrCat(ops::NotValidText(opened.set.name(), validity), "; legal is a valid set"));
  }
  {
    ISO_ASSIGN_OR_RETURN(const SweepSource scan, SweepSource::Open("--scan", options.scan));
    ISO_RETURN_IF_ERROR(CheckSweep(opened, scan));
  }
  ISO_ASSIGN_OR_RETURN(Slab slab, Reconstruct(options, opened.calibration));
  ISO_ASSIGN_OR_RETURN(
      const quality::WaterCylinder seen,
      quality::MeasureWaterCylinder({slab.grid, {slab.voxels.data(), slab.grid.shape()}},
                                    options.diameter_mm));
  std::fprintf(options.set.to.json.progress(),
               "%s: the cylinder's axis is at x %.1f mm, y %.1f mm; %.1f mm wide is what is denser "
               "than air, given is water of %g mm\n",
               options.scan.c_str(), seen.x_mm, seen.y_mm, seen.seen_mm, options.diameter_mm);
  const calibrate::Figures figures = FiguresOf(seen, options.tolerance_hu);
  if (const absl::Status good = Judge(seen, figures, options.tolerance_hu); !good.ok()) {
    std::fputs(FigureTable(figures).c_str(), options.set.to.json.progress());
    PrintWarnings(slab.warnings);
    return good;
  }
  if (auto same = SameCylinderText(seen, options.diameter_mm, opened.calibration)) {
    slab.warnings.push_back(*std::move(same));
  }
  *opened.set.mutable_verification() = VerificationOf(options, seen, now);
  wire::SetVerifiedParts(opened.set);
  return WriteInto(std::move(opened.set),
                   {kVerifyPart, figures, PictureOf(seen), std::move(slab.warnings)}, options.set);
}

}  // namespace

void AddCalibrateVerifyCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  flags::Command command = calibrate.Subcommand(
      "verify", "Whether all of a set makes water of a cylinder of water: marks the set");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate verify --scan water2 --diameter-mm 200 --into room3.isocal\n"
      "Take another scan than the set was fitted to, with the cylinder some centimetres beside "
      "the\n"
      "axis, where lag shows. What changes a part of the set later ends it.");
  command.Add("--scan", options->scan, "scan of a cylinder of water, whole in the frames")
      .Required()
      .Type("PATH");
  command.Add("--diameter-mm", options->diameter_mm, "the water's, without its wall")
      .Required()
      .Range(calibrate::kLeastDiameterMm, calibrate::kMostDiameterMm);
  command
      .Add("--tolerance-hu", options->tolerance_hu,
           "what water, its cupping and its border may be off; air twice of it")
      .ShowDefault()
      .Range(wire::kLeastToleranceHu, wire::kMostToleranceHu);
  AddIntoFlags(command, options->set);
  command.Does([options] { return Verify(*options); });
}

}  // namespace isocenter::cli
