#include "kernels/recon/shared_fan_beam.h"

#include <algorithm>
#include <numeric>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/ops/session.h"

namespace isocenter::recon {
namespace {

constexpr int kQuarters = 4;

// The `part`-th of `parts` runs of 0 to `count`, as even as can be.
int BeginOf(int part, int parts, int count) {
  return static_cast<int>(int64_t{count} * part / parts);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedFanBeam>> SharedFanBeam::Create(
    const FanBeamGeometry& geometry, const VolumeGrid& grid, const FanBeamSettings& settings,
    const ops::Registry& registry, std::span<ops::Device* const> devices, FanBeamShare share) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(ValidateFanBeam(geometry));
  const int count = static_cast<int>(devices.size());
  const int most = share == FanBeamShare::kRows ? grid.ny : geometry.views;
  if (count < 1 || count > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " devices for a fan-beam slice; legal is 1 to ", most, ", its ",
                     share == FanBeamShare::kRows ? "rows" : "views"));
  }
  if (grid.nz != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a grid of ", grid.nz, " slices for one slice that devices share"));
  }
  auto self = absl::WrapUnique(new SharedFanBeam(geometry, grid, share));
  self->parts_.resize(devices.size());
  self->ShareViews(count);
  for (int i = 0; i < count; ++i) {
    const VolumeGrid own = share == FanBeamShare::kRows ? self->ShareRows(i, count) : grid;
    ISO_RETURN_IF_ERROR(self->Open(settings, registry, *devices[static_cast<size_t>(i)], own,
                                   self->parts_[static_cast<size_t>(i)]));
  }
  if (share == FanBeamShare::kRows || count == 1) return self;
  ops::Session& first = *self->parts_[0].session;
  ISO_ASSIGN_OR_RETURN(const auto new_arithmetic, registry.arithmetic.Find(first.backend()));
  ISO_ASSIGN_OR_RETURN(self->arithmetic_, new_arithmetic(first));
  ISO_ASSIGN_OR_RETURN(self->arriving_, first.NewVolume(grid));
  return self;
}

void SharedFanBeam::ShareViews(int devices) {
  const int views = geometry_.views;
  if (share_ == FanBeamShare::kRows || devices == 1) {
    for (Part& part : parts_) {
      part.geometry = geometry_;
      part.views.resize(static_cast<size_t>(views));
      std::iota(part.views.begin(), part.views.end(), 0);
    }
    return;
  }
  const bool dealt = geometry_.FullScan() && views % (kQuarters * devices) == 0;
  for (int i = 0; i < devices; ++i) {
    Part& part = parts_[static_cast<size_t>(i)];
    part.geometry = geometry_;
    if (dealt) {
      part.geometry.first_angle = geometry_.Angle(i);
      part.geometry.views = views / devices;
      for (int view = i; view < views; view += devices) part.views.push_back(view);
    } else {
      part.first_view = BeginOf(i, devices, views);
      part.views.resize(static_cast<size_t>(BeginOf(i + 1, devices, views) - part.first_view));
      std::iota(part.views.begin(), part.views.end(), part.first_view);
    }
  }
  // Filters take a dealt view for as many as there are devices.
  if (dealt) sum_factor_ = 1.0 / devices;
}

VolumeGrid SharedFanBeam::ShareRows(int device, int devices) {
  Part& part = parts_[static_cast<size_t>(device)];
  part.first_row = BeginOf(device, devices, grid_.ny);
  VolumeGrid own = grid_;
  own.origin = grid_.VoxelToWorld(0, part.first_row, 0);
  own.ny = BeginOf(device + 1, devices, grid_.ny) - part.first_row;
  return own;
}

absl::Status SharedFanBeam::Open(const FanBeamSettings& settings, const ops::Registry& registry,
                                 ops::Device& device, const VolumeGrid& grid, Part& part) {
  const ops::FanBeamFilterSpec spec{.geometry = part.geometry,
                                    .slices = 1,
                                    .form = settings.form,
                                    .window = settings.window,
                                    .cutoff = settings.cutoff};
  ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
  ISO_ASSIGN_OR_RETURN(const auto new_filter, registry.fan_beam_filter.Find(device.backend()));
  ISO_ASSIGN_OR_RETURN(
      const auto new_backproject,
      registry.fan_beam_backproject.Find(device.backend(), settings.backproject_method));
  ISO_ASSIGN_OR_RETURN(part.session, device.NewSession());
  ISO_ASSIGN_OR_RETURN(part.filter, new_filter(*part.session, spec));
  ISO_ASSIGN_OR_RETURN(part.backproject, new_backproject(*part.session));
  ISO_ASSIGN_OR_RETURN(part.stack,
                       part.session->NewProjectionStack(
                           {static_cast<int64_t>(part.views.size()), 1, geometry_.channels},
                           ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(part.image, part.session->NewVolume(grid));
  return absl::OkStatus();
}

absl::Status SharedFanBeam::Upload(HostView3<const float> lines) {
  const Shape3 shape{geometry_.views, 1, geometry_.channels};
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("line integrals", lines.shape(), shape));
  std::vector<float> own;
  for (Part& part : parts_) {
    own.clear();
    for (const int view : part.views) {
      const auto row = lines.slices(view, 1).span();
      own.insert(own.end(), row.begin(), row.end());
    }
    ISO_RETURN_IF_ERROR(part.stack->Upload(0, {own.data(), part.stack->shape()}));
    ISO_RETURN_IF_ERROR(part.image->Clear());
    ISO_RETURN_IF_ERROR(part.session->Synchronize());
  }
  return absl::OkStatus();
}

absl::Status SharedFanBeam::Run() {
  for (Part& part : parts_) {
    ISO_RETURN_IF_ERROR(part.filter->Run(part.first_view, *part.stack, *part.stack));
    ISO_RETURN_IF_ERROR(
        part.backproject->Run(part.geometry, part.first_view, *part.stack, *part.image));
  }
  if (arithmetic_ != nullptr) {
    ops::VolumeBuffer& sum = *parts_[0].image;
    for (size_t i = 1; i < parts_.size(); ++i) {
      ISO_RETURN_IF_ERROR(arithmetic_->CopySlices(*parts_[i].image, 0, 1, *arriving_, 0));
      ISO_RETURN_IF_ERROR(
          arithmetic_->Axpby(sum_factor_, *arriving_, i == 1 ? sum_factor_ : 1, sum));
    }
  }
  for (Part& part : parts_) ISO_RETURN_IF_ERROR(part.session->Synchronize());
  return absl::OkStatus();
}

absl::Status SharedFanBeam::Download(HostView3<float> image) {
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("the image", image.shape(), grid_.shape()));
  if (share_ == FanBeamShare::kViews) return parts_[0].image->Download(0, image);
  for (Part& part : parts_) {
    ISO_RETURN_IF_ERROR(part.image->Download(
        0, {image.data() + int64_t{part.first_row} * grid_.nx, part.image->grid().shape()}));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
