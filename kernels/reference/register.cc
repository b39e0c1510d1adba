#include "kernels/reference/register.h"

#include <string>

#include "kernels/reference/device.h"
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
}

}  // namespace

void Register(ops::Registry& registry) {
  registry.devices["reference"] = [](const ops::DeviceLimits& limits) {
    return std::make_unique<ReferenceDevice>(limits);
  };
  registry.preprocess.Add("reference", "plain", [](ops::Session&) { return NewPreprocess(); });
  registry.ramp_filter.Add(
      "reference", "convolution",
      [](ops::Session&, const ops::RampFilterSpec& spec) { return NewRampFilter(spec); });
  registry.backproject.Add("reference", "voxel",
                           [](ops::Session&) { return NewBackprojectVoxel(); });
  registry.to_hounsfield.Add("reference", "plain", [](ops::Session&) { return NewToHounsfield(); });
  AddProjector(registry, ops::ProjectorModel::kJoseph, JosephEntries);
  AddProjector(registry, ops::ProjectorModel::kSiddon, SiddonEntries);
  AddProjector(registry, ops::ProjectorModel::kVoxelDriven, VoxelDrivenEntries);
  AddProjector(registry, ops::ProjectorModel::kVoxelDrivenSplit, VoxelDrivenSplitEntries);
  AddProjector(registry, ops::ProjectorModel::kSeparableFootprint, SeparableFootprintEntries);
  registry.arithmetic.Add("reference", "plain", [](ops::Session&) { return NewArithmetic(); });
  registry.variation.Add("reference", "plain", [](ops::Session&) { return NewVariation(); });
}

}  // namespace isocenter::reference
