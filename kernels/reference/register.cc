#include "kernels/reference/register.h"

#include <string>

#include "kernels/reference/device.h"
#include "kernels/reference/fan_beam.h"
#include "kernels/reference/methods.h"
#include "kernels/reference/system_matrix.h"

namespace isocenter::reference {
namespace {

void AddProjector(ops::Registry& registry, ops::ProjectorModel model, SystemMatrix system) {
  const std::string name(ops::ProjectorName(model));
  ops::ProjectorMethods& methods = registry.projectors[model];
  methods.forward.Add("reference", name,
                      [system](ops::Session&) { return NewForwardProject(system); });
  methods.back.Add("reference", name,
                   [system](ops::Session&) { return NewMatchedBackproject(system); });
  methods.row_sums.Add("reference", name, [system](ops::Session&) { return NewRowSums(system); });
}

}  // namespace

void Register(ops::Registry& registry) {
  registry.devices["reference"] = [](const ops::DeviceLimits& limits) {
    return std::make_unique<ReferenceDevice>(limits);
  };
  ops::CorrectionMethods& corrections = registry.corrections;
  const auto plain = [](auto make) {
    return [make](ops::Session&, const ops::Calibration& calibration) { return make(calibration); };
  };
  corrections.normalize.Add("reference", "plain", plain(NewNormalizeCounts));
  corrections.overexposed.Add("reference", "plain", plain(NewRecoverOverexposed));
  corrections.defects.Add("reference", "plain", plain(NewInterpolateDefects));
  corrections.lag.Add("reference", "plain", plain(NewCorrectLag));
  corrections.air_sweep.Add("reference", "plain", plain(NewCorrectAirSweep));
  corrections.doses.Add("reference", "plain", plain(NewFindDoses));
  corrections.glare.Add("reference", "plain", plain(NewCorrectGlare));
  corrections.scatter.Add("reference", "plain", plain(NewCorrectScatter));
  corrections.linearize.Add("reference", "plain", plain(NewLinearize));
  registry.preprocess.Add("reference", "plain", [](ops::Session&) { return NewPreprocess(); });
  registry.ramp_filter.Add(
      "reference", "convolution",
      [](ops::Session&, const ops::RampFilterSpec& spec) { return NewRampFilter(spec); });
  registry.backproject.Add("reference", "voxel",
                           [](ops::Session&) { return NewBackprojectVoxel(); });
  registry.matrix_gradient.Add("reference", "voxel",
                               [](ops::Session&) { return NewMatrixGradient(); });
  registry.to_hounsfield.Add("reference", "plain", [](ops::Session&) { return NewToHounsfield(); });
  AddProjector(registry, ops::ProjectorModel::kJoseph, JosephEntries);
  AddProjector(registry, ops::ProjectorModel::kSiddon, SiddonEntries);
  AddProjector(registry, ops::ProjectorModel::kVoxelDriven, VoxelDrivenEntries);
  AddProjector(registry, ops::ProjectorModel::kVoxelDrivenSplit, VoxelDrivenSplitEntries);
  AddProjector(registry, ops::ProjectorModel::kSeparableFootprint, SeparableFootprintEntries);
  registry.arithmetic.Add("reference", "plain", [](ops::Session&) { return NewArithmetic(); });
  registry.variation.Add("reference", "plain", [](ops::Session&) { return NewVariation(); });
  registry.fan_beam_filter.Add(
      "reference", "convolution",
      [](ops::Session&, const ops::FanBeamFilterSpec& spec) { return NewFanBeamFilter(spec); });
  registry.fan_beam_backproject.Add("reference", "plain",
                                    [](ops::Session&) { return NewFanBeamBackproject(); });
  registry.trace.Add("reference", "plain", [](ops::Session&) { return NewInterpolateTrace(); });
  registry.bone.Add("reference", "plain", plain(NewCorrectBone));
  registry.remove_scatter.Add("reference", "plain", plain(NewRemoveScatter));
  registry.cone_beam.Add("reference", "plain", [](ops::Session&, const ops::ConeBeamSpec& spec) {
    return NewConeBeamArtefact(spec);
  });
  registry.rings.Add("reference", "plain",
                     [](ops::Session&, const ops::RingSpec& spec) { return NewRemoveRings(spec); });
  registry.stripes.Add("reference", "plain", [](ops::Session&) { return NewRemoveStripes(); });
}

}  // namespace isocenter::reference
