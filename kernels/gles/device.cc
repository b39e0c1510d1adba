#include "kernels/gles/device.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace isocenter::gles {
namespace {

// Beyond these the products below would overflow; no real array comes near.
constexpr int64_t kMaxExtent = int64_t{1} << 20;

int64_t BytesOf(Shape3 shape) {
  if (shape.slow > kMaxExtent || shape.middle > kMaxExtent || shape.fast > kMaxExtent) {
    return std::numeric_limits<int64_t>::max();
  }
  return shape.count() * static_cast<int64_t>(sizeof(float));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Device>> GlesDevice::Open(const ops::DeviceLimits& limits) {
  if (limits.ordinal != 0) {
    return absl::UnavailableError(
        absl::StrCat("no graphics device ", limits.ordinal, ": EGL's default alone is used"));
  }
  ISO_ASSIGN_OR_RETURN(const auto context, Context::Create());
  return std::unique_ptr<ops::Device>(new GlesDevice(context->renderer(), limits));
}

absl::StatusOr<std::unique_ptr<ops::Session>> GlesDevice::NewSession(const ops::SessionOptions&) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<Context> context, Context::Create());
  return std::make_unique<GlesSession>(*this, std::move(context), budget_);
}

int64_t GlesDevice::ProjectionStackBytes(Shape3 shape, ops::StackUse) const {
  return BytesOf(shape);
}

int64_t GlesDevice::VolumeBytes(const VolumeGrid& grid) const { return BytesOf(grid.shape()); }

absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> GlesSession::NewProjectionStack(
    Shape3 shape, ops::StackUse use) {
  ISO_RETURN_IF_ERROR(ops::CheckAllocation(
      "projections", shape, device().ProjectionStackBytes(shape, use), budget_->limit()));
  ISO_ASSIGN_OR_RETURN(GraphicsBuffer values,
                       GraphicsBuffer::Create(context_, budget_, shape.count()));
  ISO_RETURN_IF_ERROR(values.Fill(values.floats(), 0.f));
  return std::make_unique<Stack>(shape, use, std::move(values));
}

absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> GlesSession::NewVolume(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(
      ops::CheckAllocation("volume", grid.shape(), device().VolumeBytes(grid), budget_->limit()));
  ISO_ASSIGN_OR_RETURN(GraphicsBuffer values,
                       GraphicsBuffer::Create(context_, budget_, grid.voxels()));
  ISO_RETURN_IF_ERROR(values.Fill(values.floats(), 0.f));
  return std::make_unique<Volume>(grid, std::move(values));
}

absl::StatusOr<GlesSession*> AsGlesSession(ops::Session& session) {
  auto* own = dynamic_cast<GlesSession*>(&session);
  if (own == nullptr) return ops::ForeignBuffer("session", "gles");
  return own;
}

}  // namespace isocenter::gles
