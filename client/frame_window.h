// What has become of the frames of one acquisition: sent, acknowledged, to be sent again. For .cc
// files of client/ only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "client/frame_store.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::client {

/// Keeps every frame until it is acknowledged, so that a new call can send it again; in a store, if
/// it is given one, also after it, for a node that has none of them. The bounds count frames that
/// were handed in and are not acknowledged: one that never comes closes nothing. Not thread-safe.
class FrameWindow {
 public:
  /// At most `max_frames` and `max_bytes` are kept, and always at least one frame.
  FrameWindow(uint32_t frame_count, int64_t max_frames, int64_t max_bytes);

  /// From now on acknowledged frames are kept in `store`, which outlives the window.
  void KeepAcknowledged(FrameStore* store) { store_ = store; }
  /// Whether all frames that the server was ever said to have can be sent to another. Errors: why
  /// not.
  absl::Status CanBeSentAgain() const;

  bool HasRoomFor(int64_t bytes) const;
  /// True when the frame waits for its acknowledgement or has it.
  bool Has(uint32_t index) const { return state_[index] != State::kAbsent; }
  /// Takes a frame that the window does not have, sharing its bytes; the next call of Next that
  /// finds nothing older returns it.
  void Add(uint32_t index, const grpc::ByteBuffer& message);
  /// Whether the server has a frame from another stream, as far as is known, and nothing has been
  /// sent yet to prove that this one's are of the same scan.
  bool LacksProof(uint32_t index) const { return !proof_ && state_[index] == State::kAcknowledged; }
  /// The server is sent such a frame, once, and compares it with what it has; it is not waited for.
  void AddProof(const grpc::ByteBuffer& message);
  /// The message that is to be written next, or nothing. Valid until the frame is acknowledged.
  /// None any more once failure() says so.
  const grpc::ByteBuffer* Next();
  /// A frame that is to be written could not be read back.
  const absl::Status& failure() const { return failure_; }

  /// Returns the frames that this acknowledges for the first time, of those that were handed in:
  /// not those that a server had acknowledged which was left since.
  std::vector<uint32_t> Acknowledge(const v1::Acknowledgement& acknowledgement);

  /// A new call begins at a server whose first missing frame is `next_frame_index`: all frames
  /// without acknowledgement are to be written again, in ascending order. Returns the frames that
  /// were acknowledged by this, as Acknowledge.
  std::vector<uint32_t> Rewind(uint32_t next_frame_index);

  /// A new call begins at another server, as Rewind, which has only the frames below
  /// `next_frame_index`. CanBeSentAgain() is OK.
  std::vector<uint32_t> Restart(uint32_t next_frame_index);

  /// True when the server acknowledged a frame of ours and says now that it lacks it.
  bool WasReleased(uint32_t index) const {
    return index < state_.size() && state_[index] == State::kReleased;
  }
  /// Frames that the server has, whoever sent them.
  int64_t acknowledged() const { return acknowledged_; }
  bool empty() const { return kept_.empty(); }

 private:
  enum class State : uint8_t {
    kAbsent,        // neither handed in nor acknowledged
    kKept,          // handed in, not acknowledged
    kReleased,      // handed in and acknowledged
    kStored,        // handed in and acknowledged by a server that was left, not by this one
    kAcknowledged,  // acknowledged without being handed in: sent before, or given up
  };
  void Acknowledge(int64_t first, int64_t last, std::vector<uint32_t>& released);

  const int64_t max_frames_, max_bytes_;
  FrameStore* store_ = nullptr;
  absl::Status failure_;
  std::optional<grpc::ByteBuffer> proof_;  // once there was one
  bool proof_is_unwritten_ = false;
  std::vector<State> state_;
  std::map<uint32_t, grpc::ByteBuffer> kept_;
  int64_t kept_bytes_ = 0;
  std::deque<uint32_t> unwritten_;  // in this call; may hold frames that are acknowledged meanwhile
  int64_t below_ = 0;               // all frames below are acknowledged
  int64_t acknowledged_ = 0;
};

}  // namespace isocenter::client
