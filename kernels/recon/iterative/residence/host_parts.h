// Parts of a vector that wait in host memory, and a device's rooms for those that are worked on.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/device.h"

namespace isocenter::recon {

/// What is done to a part of a vector that is asked for. kOverwrite: what it held does not matter,
/// and all of it is written. kLast: what it holds is not asked for again before it is overwritten.
enum class Access { kRead, kUpdate, kOverwrite, kLast };

/// What a device's part is like: its buffer, what gives the buffer its shape, and in how many rooms
/// parts take turns. Parts that are changed take three: one is worked on while the one before goes
/// and the next comes, in both directions at once. Projections mostly come only.
struct VolumeParts {
  using Buffer = ops::VolumeBuffer;
  using Form = VolumeGrid;
  static constexpr int kRooms = 3;
};
struct ProjectionParts {
  using Buffer = ops::ProjectionStack;
  using Form = Shape3;
  static constexpr int kRooms = 2;
};

/// One device's parts of a vector. Parts are mostly asked for in the order of their numbers, from
/// the first again after the last: while one part is worked on, the one before goes back to host
/// memory and the next comes, beside the kernels. Not thread-safe.
template <class Parts>
class HostParts {
 public:
  using Buffer = typename Parts::Buffer;
  using Form = typename Parts::Form;

  /// How many parts have a room in the memory of a device that has `parts` of them.
  static int Rooms(int parts) { return std::min(parts, Parts::kRooms); }

  /// Zero. `largest` has room for each of `parts`; `session` must outlive them. Errors:
  /// RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<HostParts>> Create(ops::Session& session,
                                                           std::vector<Form> parts,
                                                           const Form& largest);
  /// Waits for copies that go on.
  ~HostParts();
  HostParts(const HostParts&) = delete;
  HostParts& operator=(const HostParts&) = delete;

  /// The part in the device's memory, valid until another one is asked for. Copies of this part and
  /// of others may go on: work that is started on the part waits for its own.
  absl::StatusOr<Buffer*> At(int part, Access access);

  /// Returns when host memory has what the rooms have.
  absl::Status Flush();

  /// What host memory has of a part: all of it after Flush, until it is asked for to be changed.
  /// May be written before the first call of At only.
  HostView3<float> InHost(int part);

 private:
  struct Room {
    std::unique_ptr<Buffer> buffer;
    int part = -1;  // that is there
    bool changed = false;
  };
  HostParts(ops::Session& session, std::vector<Form> parts);
  int RoomOf(int part) const;
  absl::Status TurnTo(int part, Access access);
  absl::Status Bring(int part, Access access, Room& room);
  absl::Status WriteBack(Room& room);
  absl::Status WaitForHost(int part);

  ops::Session& session_;
  const std::vector<Form> parts_;
  std::vector<int64_t> first_;  // of each part in host memory, elements
  std::unique_ptr<ops::HostMemory> host_;
  /// By part: a download to host memory may be under way. Shared with the device's threads that
  /// say when it has ended, which a device that is lost may do late.
  std::shared_ptr<std::vector<std::atomic<bool>>> arriving_;
  std::vector<Room> rooms_;
  int current_ = 0;  // the room that was asked for last
};

extern template class HostParts<VolumeParts>;
extern template class HostParts<ProjectionParts>;

}  // namespace isocenter::recon
