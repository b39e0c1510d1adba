#include "server/audit/outbox.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/audit/json_line.h"
#include "server/base/log.h"

namespace isocenter::audit {
namespace {

constexpr absl::Duration kBetweenPositions = absl::Seconds(1);

}  // namespace

void MemoryOutbox::Add(const NumberedEvent& record) {
  const size_t bytes = ToJson(record.event).size() + sizeof(Kept);
  absl::MutexLock lock(&mutex_);
  kept_.push_back({record, bytes});
  bytes_ += bytes;
  while (bytes_ > most_bytes_ && kept_.size() > 1) {
    if (lost_++ == 0) {
      spdlog::error("event=audit_given_up bytes_waiting={} what=\"the oldest messages\"", bytes_);
    }
    ++given_up_;
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
}

std::optional<NumberedEvent> MemoryOutbox::Oldest() {
  absl::MutexLock lock(&mutex_);
  if (!taken_ && lost_ > 0) {
    taken_ = NumberedEvent{0, Event{.action = Action::kTrail,
                                    .outcome = Outcome::kFailure,
                                    .detail = "the repository could not be reached",
                                    .time = absl::Now(),
                                    .lost = std::exchange(lost_, 0)}};
  } else if (!taken_ && !kept_.empty()) {
    taken_ = std::move(kept_.front().record);
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
  return taken_;
}

void MemoryOutbox::MarkSent() {
  absl::MutexLock lock(&mutex_);
  if (taken_ && taken_->event.lost > 0) {
    spdlog::error("event=audit_messages_lost count={}", taken_->event.lost);
  }
  taken_.reset();
}

int64_t MemoryOutbox::waiting() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(kept_.size()) + (taken_ ? 1 : 0);
}

int64_t MemoryOutbox::given_up() const {
  absl::MutexLock lock(&mutex_);
  return given_up_;
}

FileOutbox::FileOutbox(const std::string& path, int64_t newest)
    : path_(absl::StrCat(path, ".sent")), reader_(path), newest_(newest) {
  int64_t sent = 0;
  std::ifstream(path_) >> sent;
  if (sent < 0 || sent > newest) {
    spdlog::error("event=audit_position_unknown file={} position={} last_record={}", path_, sent,
                  newest);
    sent = 0;  // better twice than never
  }
  kept_position_ = sent_ = sent;
}

FileOutbox::~FileOutbox() { KeepPosition(); }

void FileOutbox::Add(const NumberedEvent& record) {
  if (record.number > 0) {
    newest_ = record.number;
  } else {
    unwritten_.Add(record);
  }
}

std::optional<NumberedEvent> FileOutbox::Oldest() {
  if (!oldest_ && sent_ < newest_) {
    absl::StatusOr<NumberedEvent> next = reader_.Next(sent_);
    if (next.ok()) oldest_ = *std::move(next);
  }
  if (oldest_) return oldest_;
  KeepPosition();
  return unwritten_.Oldest();
}

void FileOutbox::MarkSent() {
  if (!oldest_) return unwritten_.MarkSent();
  sent_ = oldest_->number;
  oldest_.reset();
  if (absl::Now() - kept_at_ >= kBetweenPositions) KeepPosition();
}

int64_t FileOutbox::waiting() const {
  return std::max<int64_t>(0, newest_ - sent_) + unwritten_.waiting();
}

void FileOutbox::KeepPosition() {
  if (kept_position_ == sent_) return;
  kept_at_ = absl::Now();
  const std::string next = absl::StrCat(path_, ".next");
  {
    std::ofstream file(next, std::ios::trunc);
    file << sent_ << "\n";
    if (!file.flush()) return;  // what was sent is sent again after a crash
  }
  if (std::rename(next.c_str(), path_.c_str()) == 0) kept_position_ = sent_.load();
}

}  // namespace isocenter::audit
