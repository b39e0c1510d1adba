#include "server/audit/trail.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/audit/bounds.h"
#include "server/base/log.h"

namespace isocenter::audit {
namespace {

// Of what the files may take; then strangers get no records of their own.
constexpr double kScarce = 0.75;
constexpr absl::Duration kBetweenLooks = absl::Minutes(1);

size_t BytesOf(const Event& event) {
  size_t bytes = sizeof event + event.actor.name.size() + event.actor.address.size() +
                 event.actor.certificate_subject.size() + event.destination.size() +
                 event.detail.size();
  for (const auto* texts : {&event.patient_ids, &event.study_uids, &event.job_ids, &event.query}) {
    for (const std::string& text : *texts) bytes += sizeof text + text.size();
  }
  return bytes;
}

Event Loss(int64_t records) {
  return {.action = Action::kTrail,
          .outcome = Outcome::kFailure,
          .detail = "the trail could not be written to",
          .time = absl::Now(),
          .lost = records};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Trail>> Trail::Open(TrailOptions options) {
  std::unique_ptr<Trail> trail(new Trail(options.repeats));
  std::unique_ptr<Outbox> outbox;
  if (options.file && options.syslog) {
    // What has been sent is known once the file is open.
    options.file->exported = [raw = trail.get()] {
      return raw->syslog_ == nullptr ? 0 : raw->syslog_->exported();
    };
  }
  if (options.file) {
    const std::string path = options.file->path;
    ISO_ASSIGN_OR_RETURN(AuditFile opened, AuditFile::Open(*std::move(options.file)));
    spdlog::info("event=audit_file_opened file={} last={} hash={}", path, opened.last().number,
                 opened.last().hash);
    if (options.syslog) outbox = std::make_unique<FileOutbox>(path, opened.last().number);
    trail->file_.emplace(std::move(opened));
  }
  if (options.syslog) {
    if (outbox == nullptr) outbox = std::make_unique<MemoryOutbox>();
    ISO_ASSIGN_OR_RETURN(trail->syslog_, SyslogSender::Start(*std::move(options.syslog),
                                                             options.source, std::move(outbox)));
  }
  {
    absl::MutexLock lock(&trail->mutex_);
    trail->state_.has_file = trail->file_.has_value();
    trail->state_.has_syslog = trail->syslog_ != nullptr;
    if (trail->file_) trail->state_.fill = trail->file_->fill();
  }
  trail->thread_ = std::thread([raw = trail.get()] { raw->Run(); });
  return trail;
}

Trail::~Trail() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
  if (file_) {
    spdlog::info("event=audit_file_left last={} hash={}", file_->last().number, file_->last().hash);
  }
}

void Trail::Record(Event event) {
  if (event.time == absl::InfinitePast()) event.time = absl::Now();
  const size_t most = IsWithoutEffect(event) ? kMostWaitingBytes / 2 : kMostWaitingBytes;
  std::vector<Event> parts = Bounded(std::move(event));
  absl::MutexLock lock(&mutex_);
  if (!state_.has_file && !state_.has_syslog) return;
  for (Event& part : parts) {
    const size_t bytes = BytesOf(part);
    if (waiting_bytes_ + bytes > most) {
      ++turned_away_;
      continue;
    }
    waiting_bytes_ += bytes;
    waiting_.push_back(std::move(part));
  }
}

TrailState Trail::State() const {
  absl::MutexLock lock(&mutex_);
  TrailState state = state_;
  if (syslog_ != nullptr) state.waiting_to_send = syslog_->waiting();
  return state;
}

bool Trail::Await(std::deque<Event>& events) {
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithDeadline(absl::Condition(&has_work), std::min(repeats_.next(), next_look_));
  events = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  untold_ += turned_away_;
  state_.lost += std::exchange(turned_away_, 0);
  return !stopping_ || !events.empty();
}

void Trail::Run() {
  pthread_setname_np(pthread_self(), "iso-audit");
  std::deque<Event> events;
  next_look_ = file_ ? absl::Now() + kBetweenLooks : absl::InfiniteFuture();
  while (Await(events)) {
    if (absl::Now() >= next_look_) Look();
    for (Event& event : events) {
      for (Event& record : repeats_.Take(std::move(event), IsScarce())) Write(std::move(record));
    }
    for (Event& record : repeats_.Expire(absl::Now())) Write(std::move(record));
  }
  for (Event& record : repeats_.Expire(absl::InfiniteFuture())) Write(std::move(record));
}

bool Trail::IsScarce() const {
  if (!file_) return false;
  const Fill fill = file_->fill();
  return static_cast<double>(fill.used_bytes) > kScarce * static_cast<double>(fill.limit_bytes);
}

void Trail::Write(Event event) {
  event.time = std::min(event.time, absl::Now());
  if (!file_) {
    if (untold_ > 0) syslog_->Send({++number_, Loss(std::exchange(untold_, 0))});
    return syslog_->Send({++number_, std::move(event)});
  }
  absl::Status written = WriteLoss();
  if (written.ok()) written = file_->Write(event);
  Tell(written, 1);
  if (syslog_ == nullptr) return;
  // The repository gets what the disk does not take.
  if (written.ok()) {
    syslog_->Send({file_->last().number, {}});
  } else {
    syslog_->Send({0, std::move(event)});
  }
}

absl::Status Trail::WriteLoss() {
  if (untold_ == 0) return absl::OkStatus();
  const absl::Status written = file_->Write(Loss(untold_));
  if (written.ok()) untold_ = 0;
  return written;
}

void Trail::Look() {
  next_look_ = absl::Now() + kBetweenLooks;
  file_->Look();
  Tell(WriteLoss(), 0);
}

void Trail::Tell(const absl::Status& written, int records) {
  const bool scarce = IsScarce();
  if (scarce && !was_scarce_) {
    spdlog::error("event=audit_nearly_full bytes={} of={} cure=\"collect the closed files\"",
                  file_->fill().used_bytes, file_->fill().limit_bytes);
  }
  was_scarce_ = scarce;
  if (!written.ok()) untold_ += records;
  absl::MutexLock lock(&mutex_);
  state_.fill = file_->fill();
  state_.lost += written.ok() ? 0 : records;
  if (!written.ok() && !state_.is_failing) {
    spdlog::error("event=audit_records_lost error=\"{}\"", written.ToString());
  }
  if (written.ok() && state_.is_failing) spdlog::warn("event=audit_written_again");
  state_.is_failing = !written.ok();
}

}  // namespace isocenter::audit
