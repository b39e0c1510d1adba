#include "kernels/quality/phantom_study.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/quality/slice_width.h"
#include "kernels/quality/unmeasured_figures.h"

namespace isocenter::quality {
namespace {

using Kind = PhantomModule::Kind;

constexpr double kTaskContrast = 10;  // HU
constexpr double kPart = 0.6;         // of an insert's radius, away from its edge
constexpr int kMostBlock = 128, kMostBlock3d = 64, kMostSlices = 32;  // voxels

std::vector<PhantomModule> ModulesOf(const QualityPhantom& phantom, Kind kind) {
  std::vector<PhantomModule> found;
  for (const PhantomModule& module : phantom.modules) {
    if (module.kind == kind) found.push_back(module);
  }
  return found;
}

// How far from an edge is looked.
double ReachOf(double radius_mm, double voxel_mm) {
  return std::min(0.8 * radius_mm, std::max(4 * voxel_mm, std::min(8 * voxel_mm, 5.0)));
}

class Measuring {
 public:
  Measuring(const VolumeView& volume, const QualityPhantom& phantom, const VolumeView* again,
            PhantomStudy& study)
      : volume_(volume), phantom_(phantom), again_(again), study_(study) {}

  absl::Status SecondScan();
  void Inserts();
  void Edges();
  void Wire();
  void Sphere();
  void Uniform();
  void Slices();
  void Distances();
  void LowContrasts();
  void Tasks();

 private:
  const Placement& place() const { return study_.place.placement; }
  double pixel() const { return volume_.grid.spacing.x; }
  double slice() const { return volume_.grid.spacing.z; }
  /// The value, or nothing; then what it was not made of is noted.
  template <class T>
  std::optional<T> Kept(const std::string& name, const absl::StatusOr<T>& measured) {
    if (measured.ok()) return *measured;
    study_.unmeasured.emplace_back(name, measured.status().message());
    return std::nullopt;
  }
  /// Of the first insert whose edge can be measured.
  std::optional<Of<EdgeTransfer>> FirstEdge(std::span<const PhantomModule> inserts,
                                            const char* name);
  NoiseBlock BlockOf(const PhantomModule& module) const;
  void NoisePowers(const PhantomModule& module);

  const VolumeView& volume_;
  const QualityPhantom& phantom_;
  const VolumeView* const again_;
  PhantomStudy& study_;
};

void Measuring::Inserts() {
  std::vector<InsertValue> values;
  for (const PhantomModule& module : ModulesOf(phantom_, Kind::kInsert)) {
    const auto figures =
        Kept("insert_" + module.name, MeasureRegion(volume_, RodOf(place(), module, kPart)));
    if (!figures) continue;
    study_.inserts.push_back({module.name, module.hounsfield, *figures,
                              place().ToWorld(module.center), module.radius_mm});
    values.push_back({module.hounsfield, figures->mean});
  }
  study_.linearity = Kept("linearity", MeasureLinearity(values));
}

std::optional<Of<EdgeTransfer>> Measuring::FirstEdge(std::span<const PhantomModule> inserts,
                                                     const char* name) {
  absl::Status why = absl::NotFoundError("the phantom has no inserts");
  for (const PhantomModule& module : inserts) {
    Rod rod = RodOf(place(), module, 0.7);  // not its ends
    rod.radius_mm = module.radius_mm;
    const auto edge = MeasureEdge(volume_, rod, ReachOf(module.radius_mm, pixel()));
    if (edge.ok()) return Of<EdgeTransfer>{module.name, *edge};
    why = edge.status();
  }
  study_.unmeasured.emplace_back(name, why.message());
  return std::nullopt;
}

void Measuring::Edges() {
  std::vector<PhantomModule> inserts = ModulesOf(phantom_, Kind::kInsert);
  std::ranges::stable_sort(inserts, [](const PhantomModule& a, const PhantomModule& b) {
    return std::abs(a.hounsfield) > std::abs(b.hounsfield);
  });
  study_.edge = FirstEdge(inserts, "mtf_edge");
  std::ranges::reverse(inserts);
  study_.low_edge = FirstEdge(inserts, "mtf_low_contrast_edge");
}

void Measuring::Wire() {
  for (const PhantomModule& module : ModulesOf(phantom_, Kind::kWire)) {
    Rod rod = RodOf(place(), module, 0.7);
    rod.radius_mm = module.radius_mm;
    study_.wire = Kept("mtf_wire", MeasureWire(volume_, rod, std::max(4 * pixel(), 4.0)));
  }
}

void Measuring::Sphere() {
  for (const PhantomModule& module : ModulesOf(phantom_, Kind::kSphere)) {
    const double voxel = std::max(pixel(), slice());
    study_.sphere = Kept("mtf_sphere",
                         MeasureSphere(volume_, {place().ToWorld(module.center), module.radius_mm},
                                       ReachOf(module.radius_mm, voxel)));
    if (!study_.sphere) continue;
    study_.slice_fwhm_mm = Kept("slice_fwhm_mm", SliceWidth(study_.sphere->slice_fwhm_mm, slice()));
  }
}

NoiseBlock Measuring::BlockOf(const PhantomModule& module) const {
  const VolumeGrid& grid = volume_.grid;
  // A square inside the disc, with room for one that is not in the voxels' middle.
  const int across =
      static_cast<int>(1.3 * module.radius_mm / std::max(grid.spacing.x, grid.spacing.y));
  const int along = static_cast<int>(2 * 0.9 * module.half_height_mm / grid.spacing.z);
  return {.center = place().ToWorld(module.center),
          .size = std::min(across, kMostBlock),
          .slices = std::clamp(along, 1, kMostSlices)};
}

absl::Status Measuring::SecondScan() {
  for (const PhantomModule& module : ModulesOf(phantom_, Kind::kUniform)) {
    const NoiseBlock block = BlockOf(module);
    const auto noise = MeasureSecondScan(volume_, *again_, block);
    if (!noise.ok()) {
      // One of them has no noise at all, and the difference half of the other's.
      if (MeasureNoisePower(volume_, block, again_).ok()) return noise.status();
      continue;  // there is no noise power then, which `unmeasured` tells with the reason
    }
    ISO_RETURN_IF_ERROR(CheckSecondScan(*noise));
    study_.second_scan = *noise;
  }
  return absl::OkStatus();
}

void Measuring::NoisePowers(const PhantomModule& module) {
  NoiseBlock block = BlockOf(module);
  study_.nps = Kept("nps", MeasureNoisePower(volume_, block, again_));
  block.size = std::min(block.size, kMostBlock3d);
  block.three_dimensional = true;
  study_.nps_3d = Kept("nps_3d", MeasureNoisePower(volume_, block, again_));
}

void Measuring::Uniform() {
  for (const PhantomModule& module : ModulesOf(phantom_, Kind::kUniform)) {
    const Rod disc = RodOf(place(), module, 1);
    Rod middle = disc;
    middle.radius_mm = 0.4 * disc.radius_mm;  // IEC 61223-3-5: 40 % of the phantom
    study_.noise = Kept("noise", MeasureRegion(volume_, middle));
    study_.uniformity = Kept("uniformity", MeasureUniformity(volume_, disc));
    NoisePowers(module);
  }
}

void Measuring::Slices() {
  for (const PhantomModule& module : ModulesOf(phantom_, Kind::kRamp)) {
    const auto profile = Kept(module.name, MeasureRamp(volume_, place(), module));
    if (profile) study_.ramps.push_back({module.name, *profile});
  }
  if (study_.ramps.empty()) return;
  double sum = 0;
  for (const auto& ramp : study_.ramps) sum += ramp.transfer.fwhm_mm;
  study_.ramp_fwhm_mm =
      Kept("ramp_fwhm_mm", SliceWidth(sum / static_cast<double>(study_.ramps.size()), slice()));
}

void Measuring::Distances() {
  if (study_.place.markers) {
    study_.distance_error_mm = study_.place.markers->largest_distance_error_mm;
    return;
  }
  const std::vector<PhantomModule> nodes = ModulesOf(phantom_, Kind::kNode);
  if (nodes.empty()) return;
  study_.distance_error_mm = Kept("distance_error", NodeDistanceError(volume_, place(), nodes));
}

void Measuring::LowContrasts() {
  for (const PhantomModule& module : ModulesOf(phantom_, Kind::kLow)) {
    const Rod object = RodOf(place(), module, 0.75);
    Rod beside = object;
    beside.center = place().ToWorld(module.beside);
    const auto inside = Kept(module.name, MeasureRegion(volume_, object));
    const auto outside = Kept(module.name, MeasureRegion(volume_, beside));
    if (!inside || !outside) continue;
    const auto cnr = Kept(module.name, ContrastToNoise(*inside, *outside));
    if (!cnr) continue;
    study_.low_contrasts.push_back(
        {module.name, module.hounsfield, 2 * module.radius_mm, inside->mean - outside->mean, *cnr});
  }
}

void Measuring::Tasks() {
  // The transfer function at an edge of as little contrast as can be measured (TG-233).
  const auto& edge = study_.low_edge ? study_.low_edge : study_.edge;
  if (!edge || !study_.nps) {
    study_.unmeasured.emplace_back("detectability", "needs an edge and the noise power");
    return;
  }
  for (const double size : kTaskSizes) {
    const DetectionTask task{.contrast = kTaskContrast, .size_mm = size};
    const auto index = Kept(absl::StrFormat("detectability_%gmm", size),
                            MeasureDetectability(task, edge->transfer.mtf, study_.nps->radial));
    if (index) study_.tasks.push_back({task, *index});
  }
}

}  // namespace

absl::StatusOr<PhantomStudy> StudyPhantom(const VolumeView& volume, const QualityPhantom& phantom,
                                          const VolumeView* again) {
  if (again != nullptr && !(again->grid == volume.grid)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the second scan has %d x %d x %d voxels or another place; legal is the grid of the first, "
        "%d x %d x %d",
        again->grid.nx, again->grid.ny, again->grid.nz, volume.grid.nx, volume.grid.ny,
        volume.grid.nz));
  }
  PhantomStudy study;
  ISO_ASSIGN_OR_RETURN(study.place, PlacePhantom(volume, phantom));
  Measuring measuring(volume, phantom, again, study);
  if (again != nullptr) ISO_RETURN_IF_ERROR(measuring.SecondScan());
  measuring.Inserts();
  measuring.Edges();
  measuring.Wire();
  measuring.Sphere();
  measuring.Uniform();
  measuring.Slices();
  measuring.Distances();
  measuring.LowContrasts();
  measuring.Tasks();
  study.unmeasured = UnmeasuredFigures(phantom, study);
  return study;
}

}  // namespace isocenter::quality
