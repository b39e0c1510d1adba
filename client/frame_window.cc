#include "client/frame_window.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"

namespace isocenter::client {

FrameWindow::FrameWindow(uint32_t frame_count, int64_t max_frames, int64_t max_bytes)
    : max_frames_(max_frames), max_bytes_(max_bytes), state_(frame_count, State::kAbsent) {}

bool FrameWindow::HasRoomFor(int64_t bytes) const {
  if (kept_.empty()) return true;
  return static_cast<int64_t>(kept_.size()) < max_frames_ && kept_bytes_ + bytes <= max_bytes_;
}

void FrameWindow::Add(uint32_t index, const grpc::ByteBuffer& message) {
  state_[index] = State::kKept;
  kept_bytes_ += static_cast<int64_t>(message.Length());
  kept_.emplace(index, message);
  unwritten_.push_back(index);
}

void FrameWindow::AddProof(const grpc::ByteBuffer& message) {
  proof_ = message;
  proof_is_unwritten_ = true;
}

const grpc::ByteBuffer* FrameWindow::Next() {
  if (std::exchange(proof_is_unwritten_, false)) return &*proof_;
  while (!unwritten_.empty()) {
    const uint32_t index = unwritten_.front();
    unwritten_.pop_front();
    if (const auto it = kept_.find(index); it != kept_.end()) return &it->second;
    if (state_[index] != State::kStored) continue;
    absl::StatusOr<grpc::ByteBuffer> message = store_->Get(index);
    if (!message.ok()) {
      failure_ = message.status();
      return nullptr;
    }
    kept_bytes_ += static_cast<int64_t>(message->Length());
    return &kept_.emplace(index, *std::move(message)).first->second;
  }
  return nullptr;
}

absl::Status FrameWindow::CanBeSentAgain() const {
  if (store_ == nullptr) return absl::FailedPreconditionError("no frames are kept");
  if (std::find(state_.begin(), state_.end(), State::kAcknowledged) != state_.end()) {
    return absl::FailedPreconditionError("some frames were sent by another stream");
  }
  return store_->complete();
}

void FrameWindow::Acknowledge(int64_t first, int64_t last, std::vector<uint32_t>& released) {
  last = std::min(last, static_cast<int64_t>(state_.size()) - 1);
  for (int64_t i = first; i <= last; ++i) {
    State& state = state_[i];
    if (state == State::kReleased || state == State::kAcknowledged) continue;
    ++acknowledged_;
    if (state == State::kAbsent) {
      state = State::kAcknowledged;
      continue;
    }
    const bool is_first = std::exchange(state, State::kReleased) == State::kKept;
    const auto index = static_cast<uint32_t>(i);
    if (const auto it = kept_.find(index); it != kept_.end()) {
      if (is_first && store_ != nullptr) store_->Put(index, it->second);
      kept_bytes_ -= static_cast<int64_t>(it->second.Length());
      kept_.erase(it);
    }
    if (is_first) released.push_back(index);
  }
}

std::vector<uint32_t> FrameWindow::Acknowledge(const v1::Acknowledgement& acknowledgement) {
  std::vector<uint32_t> released;
  if (acknowledgement.has_frame_index()) {
    Acknowledge(below_, acknowledgement.frame_index(), released);
    below_ = std::max(below_, int64_t{acknowledgement.frame_index()} + 1);
  }
  for (const v1::FrameRange& range : acknowledgement.beyond()) {
    Acknowledge(std::max<int64_t>(below_, range.first()), range.last(), released);
  }
  return released;
}

std::vector<uint32_t> FrameWindow::Rewind(uint32_t next_frame_index) {
  std::vector<uint32_t> released;
  Acknowledge(below_, int64_t{next_frame_index} - 1, released);
  below_ = std::max<int64_t>(below_, next_frame_index);
  unwritten_.clear();
  for (uint32_t index = 0; index < state_.size(); ++index) {
    if (state_[index] == State::kKept || state_[index] == State::kStored) {
      unwritten_.push_back(index);
    }
  }
  return released;
}

std::vector<uint32_t> FrameWindow::Restart(uint32_t next_frame_index) {
  for (State& state : state_) {
    if (state == State::kReleased) state = State::kStored;
  }
  below_ = acknowledged_ = 0;
  return Rewind(next_frame_index);
}

}  // namespace isocenter::client
