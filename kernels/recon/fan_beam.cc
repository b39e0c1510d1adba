#include "kernels/recon/fan_beam.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::recon {
namespace {

constexpr int64_t kSlicesAtOnce = 16;

absl::Status CheckDecrease(const char* side, int channels, int most) {
  if (channels >= 0 && channels <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("fan beam: rows fall over ", channels,
                                                 " channels ", side,
                                                 " the outer one; legal is 0 to ", most));
}

}  // namespace

absl::StatusOr<FanBeamGeometry> WithDecrease(const FanBeamGeometry& geometry,
                                             const FanBeamDecrease& decrease) {
  ISO_RETURN_IF_ERROR(CheckDecrease("before", decrease.before, geometry.channels));
  ISO_RETURN_IF_ERROR(CheckDecrease("after", decrease.after, geometry.channels));
  FanBeamGeometry wide = geometry;
  wide.channels += decrease.before + decrease.after;
  wide.central_channel += decrease.before;
  ISO_RETURN_IF_ERROR(ValidateFanBeam(wide));
  return wide;
}

void Decrease(HostView3<const float> lines, const FanBeamDecrease& decrease,
              HostView3<float> wide) {
  const Shape3& shape = lines.shape();
  for (int64_t view = 0; view < shape.slow; ++view) {
    for (int64_t slice = 0; slice < shape.middle; ++slice) {
      const float* const from = lines.row(view, slice);
      float* const to = wide.row(view, slice) + decrease.before;
      std::copy_n(from, shape.fast, to);
      for (int k = 1; k <= decrease.before; ++k) {
        to[-k] = from[0] * (1 - static_cast<float>(k) / static_cast<float>(decrease.before));
      }
      for (int k = 1; k <= decrease.after; ++k) {
        to[shape.fast - 1 + k] =
            from[shape.fast - 1] * (1 - static_cast<float>(k) / static_cast<float>(decrease.after));
      }
    }
  }
}

absl::Status ReconstructFanBeam(const FanBeamGeometry& geometry, const VolumeGrid& grid,
                                const FanBeamSettings& settings, const ops::Registry& registry,
                                ops::Device& device, const ReadFanBeamSlices& read,
                                HostView3<float> hounsfield) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("the volume", hounsfield.shape(), grid.shape()));
  ISO_RETURN_IF_ERROR(ValidateFanBeam(geometry));
  ISO_ASSIGN_OR_RETURN(const FanBeamGeometry wide, WithDecrease(geometry, settings.decrease));
  const int64_t at_once = std::min<int64_t>(kSlicesAtOnce, grid.nz);
  const ops::FanBeamFilterSpec spec{.geometry = wide,
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
  Shape3 shape{wide.views, at_once, wide.channels},
      read_shape{wide.views, at_once, geometry.channels};
  const bool widened = wide.channels > geometry.channels;
  ISO_RETURN_IF_ERROR(
      CheckAvailableMemory("a few slices of line integrals",
                           (widened ? 2 : 1) * shape.count() * int64_t{sizeof(float)}));
  std::vector<float> lines(shape.count()), narrow(widened ? read_shape.count() : 0);
  ISO_ASSIGN_OR_RETURN(const auto stack,
                       session->NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(const auto volume, session->NewVolume(part));
  for (int64_t first = 0; first < grid.nz; first += at_once) {
    shape.middle = read_shape.middle = std::min<int64_t>(at_once, grid.nz - first);
    part.nz = static_cast<int>(shape.middle);
    ISO_RETURN_IF_ERROR(stack->Reshape(shape));
    // A new volume is zero as it is.
    if (first > 0) ISO_RETURN_IF_ERROR(volume->Regrid(part));
    const HostView3<float> some(lines.data(), shape);
    const HostView3<float> measured(widened ? narrow.data() : lines.data(), read_shape);
    ISO_RETURN_IF_ERROR(read(first, measured));
    if (widened) Decrease(measured, settings.decrease, some);
    ISO_RETURN_IF_ERROR(stack->Upload(0, some));
    ISO_RETURN_IF_ERROR(filter->Run(0, *stack, *stack));
    ISO_RETURN_IF_ERROR(backproject->Run(wide, 0, *stack, *volume));
    ISO_RETURN_IF_ERROR(to_hounsfield->Run({.mu_water_per_mm = settings.mu_water_per_mm}, *volume));
    ISO_RETURN_IF_ERROR(volume->Download(0, hounsfield.slices(first, shape.middle)));
  }
  return session->Synchronize();
}

}  // namespace isocenter::recon
