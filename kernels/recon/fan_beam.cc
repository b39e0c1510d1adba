#include "kernels/recon/fan_beam.h"

#include <algorithm>
#include <vector>

#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::recon {
namespace {

constexpr int64_t kSlicesAtOnce = 16;

}  // namespace

absl::Status ReconstructFanBeam(const FanBeamGeometry& geometry, const VolumeGrid& grid,
                                const FanBeamSettings& settings, const ops::Registry& registry,
                                ops::Device& device, const ReadFanBeamSlices& read,
                                HostView3<float> hounsfield) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("the volume", hounsfield.shape(), grid.shape()));
  const int64_t at_once = std::min<int64_t>(kSlicesAtOnce, grid.nz);
  const ops::FanBeamFilterSpec spec{.geometry = geometry,
                                    .slices = static_cast<int>(at_once),
                                    .form = settings.form,
                                    .window = settings.window,
                                    .cutoff = settings.cutoff};
  ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
  ISO_ASSIGN_OR_RETURN(const auto new_filter, registry.fan_beam_filter.Find(device.backend()));
  ISO_ASSIGN_OR_RETURN(
      const auto new_backproject,
      registry.fan_beam_backproject.Find(device.backend(), settings.backproject_method));
  ISO_ASSIGN_OR_RETURN(const auto new_hounsfield, registry.to_hounsfield.Find(device.backend()));
  ISO_ASSIGN_OR_RETURN(const auto session, device.NewSession());
  ISO_ASSIGN_OR_RETURN(const auto filter, new_filter(*session, spec));
  ISO_ASSIGN_OR_RETURN(const auto backproject, new_backproject(*session));
  ISO_ASSIGN_OR_RETURN(const auto to_hounsfield, new_hounsfield(*session));

  VolumeGrid part = grid;
  part.nz = static_cast<int>(at_once);
  Shape3 shape{geometry.views, at_once, geometry.channels};
  ISO_RETURN_IF_ERROR(CheckAvailableMemory("a few slices of line integrals",
                                           shape.count() * int64_t{sizeof(float)}));
  std::vector<float> lines(shape.count());
  ISO_ASSIGN_OR_RETURN(const auto stack,
                       session->NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(const auto volume, session->NewVolume(part));
  for (int64_t first = 0; first < grid.nz; first += at_once) {
    shape.middle = std::min<int64_t>(at_once, grid.nz - first);
    part.nz = static_cast<int>(shape.middle);
    ISO_RETURN_IF_ERROR(stack->Reshape(shape));
    // A new volume is zero as it is.
    if (first > 0) ISO_RETURN_IF_ERROR(volume->Regrid(part));
    const HostView3<float> some(lines.data(), shape);
    ISO_RETURN_IF_ERROR(read(first, some));
    ISO_RETURN_IF_ERROR(stack->Upload(0, some));
    ISO_RETURN_IF_ERROR(filter->Run(0, *stack, *stack));
    ISO_RETURN_IF_ERROR(backproject->Run(geometry, 0, *stack, *volume));
    ISO_RETURN_IF_ERROR(to_hounsfield->Run({.mu_water_per_mm = settings.mu_water_per_mm}, *volume));
    ISO_RETURN_IF_ERROR(volume->Download(0, hounsfield.slices(first, shape.middle)));
  }
  return session->Synchronize();
}

}  // namespace isocenter::recon
