#include "client/frame_window.h"

#include <algorithm>

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

const grpc::ByteBuffer* FrameWindow::Next() {
  while (!unwritten_.empty()) {
    const auto it = kept_.find(unwritten_.front());
    unwritten_.pop_front();
    if (it != kept_.end()) return &it->second;
  }
  return nullptr;
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
    state = State::kReleased;
    const auto it = kept_.find(static_cast<uint32_t>(i));
    kept_bytes_ -= static_cast<int64_t>(it->second.Length());
    kept_.erase(it);
    released.push_back(static_cast<uint32_t>(i));
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
  for (const auto& [index, message] : kept_) unwritten_.push_back(index);
  return released;
}

}  // namespace isocenter::client
