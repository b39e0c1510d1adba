#include "kernels/recon/iterative/residence/host_parts.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/ops/session.h"

namespace isocenter::recon {
namespace {

Shape3 ShapeOf(const VolumeGrid& grid) { return grid.shape(); }
Shape3 ShapeOf(const Shape3& shape) { return shape; }

absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewBuffer(ops::Session& session,
                                                             const VolumeGrid& grid) {
  return session.NewVolume(grid);
}
absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewBuffer(ops::Session& session,
                                                                const Shape3& shape) {
  return session.NewProjectionStack(shape, ops::StackUse::kProjections);
}

}  // namespace

template <class Parts>
HostParts<Parts>::HostParts(ops::Session& session, std::vector<Form> parts)
    : session_(session),
      parts_(std::move(parts)),
      arriving_(std::make_shared<std::vector<std::atomic<bool>>>(parts_.size())) {}

template <class Parts>
absl::StatusOr<std::unique_ptr<HostParts<Parts>>> HostParts<Parts>::Create(ops::Session& session,
                                                                           std::vector<Form> parts,
                                                                           const Form& largest) {
  std::unique_ptr<HostParts> self(new HostParts(session, std::move(parts)));
  int64_t floats = 0;
  for (const Form& part : self->parts_) {
    self->first_.push_back(floats);
    floats += ShapeOf(part).count();
  }
  ISO_ASSIGN_OR_RETURN(
      self->host_, session.device().NewHostMemory(floats * static_cast<int64_t>(sizeof(float))));
  std::fill_n(reinterpret_cast<float*>(self->host_->data()), floats, 0.f);
  for (int room = 0; room < Rooms(static_cast<int>(self->parts_.size())); ++room) {
    ISO_ASSIGN_OR_RETURN(self->rooms_.emplace_back().buffer, NewBuffer(session, largest));
  }
  return self;
}

template <class Parts>
HostParts<Parts>::~HostParts() {
  session_.Synchronize().IgnoreError();  // a device that is lost copies no more
}

template <class Parts>
HostView3<float> HostParts<Parts>::InHost(int part) {
  return {reinterpret_cast<float*>(host_->data()) + first_[part], ShapeOf(parts_[part])};
}

template <class Parts>
int HostParts<Parts>::RoomOf(int part) const {
  for (size_t room = 0; room < rooms_.size(); ++room) {
    if (rooms_[room].part == part) return static_cast<int>(room);
  }
  return -1;
}

// A room's copies are in order with each other. Those of two rooms are not: a part that leaves one
// has to be in host memory before the other copies it.
template <class Parts>
absl::Status HostParts<Parts>::WaitForHost(int part) {
  if (!(*arriving_)[part].load(std::memory_order_acquire)) return absl::OkStatus();
  return session_.Synchronize();
}

template <class Parts>
absl::Status HostParts<Parts>::WriteBack(Room& room) {
  if (!room.changed) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(WaitForHost(room.part));
  (*arriving_)[room.part].store(true, std::memory_order_relaxed);
  room.changed = false;
  return room.buffer->StartDownload(0, InHost(room.part), [arriving = arriving_, part = room.part] {
    (*arriving)[part].store(false, std::memory_order_release);
  });
}

template <class Parts>
absl::Status HostParts<Parts>::Bring(int part, Access access, Room& room) {
  // Before the room's own part leaves, so as not to wait for that.
  if (access != Access::kOverwrite) ISO_RETURN_IF_ERROR(WaitForHost(part));
  ISO_RETURN_IF_ERROR(WriteBack(room));
  room.part = -1;
  ISO_RETURN_IF_ERROR(room.buffer->Reshape(parts_[part]));
  if (access != Access::kOverwrite) {
    ISO_RETURN_IF_ERROR(room.buffer->StartUpload(0, InHost(part)));
  }
  room.part = part;
  return absl::OkStatus();
}

// What the part is asked for first is taken for what the next will be asked for first.
template <class Parts>
absl::Status HostParts<Parts>::TurnTo(int part, Access access) {
  const int rooms = static_cast<int>(rooms_.size());
  const int there = RoomOf(part);
  Room& left = rooms_[current_];
  current_ = there >= 0 ? there : (current_ + 1) % rooms;
  if (there < 0) ISO_RETURN_IF_ERROR(Bring(part, access, rooms_[current_]));

  // Copies wait for the work that was started before, not for that which is started on this part
  // from now on.
  const int next = (part + 1) % static_cast<int>(parts_.size());
  const bool comes = RoomOf(next) < 0;
  if (comes && access != Access::kOverwrite) {
    ISO_RETURN_IF_ERROR(Bring(next, access, rooms_[(current_ + 1) % rooms]));
  }
  // Where every part has a room none has to go.
  return rooms < static_cast<int>(parts_.size()) ? WriteBack(left) : absl::OkStatus();
}

template <class Parts>
absl::StatusOr<typename Parts::Buffer*> HostParts<Parts>::At(int part, Access access) {
  if (rooms_[current_].part != part) ISO_RETURN_IF_ERROR(TurnTo(part, access));
  Room& room = rooms_[current_];
  if (access != Access::kRead) room.changed = access != Access::kLast;
  return room.buffer.get();
}

template <class Parts>
absl::Status HostParts<Parts>::Flush() {
  for (Room& room : rooms_) ISO_RETURN_IF_ERROR(WriteBack(room));
  for (size_t part = 0; part < parts_.size(); ++part) {
    ISO_RETURN_IF_ERROR(WaitForHost(static_cast<int>(part)));
  }
  return absl::OkStatus();
}

template class HostParts<VolumeParts>;
template class HostParts<ProjectionParts>;

}  // namespace isocenter::recon
