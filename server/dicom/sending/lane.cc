#include "server/dicom/sending/lane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicom/objects/uids.h"
#include "server/dicom/sending/commitment.h"
#include "server/dicom/sending/store_scu.h"

namespace isocenter::dicom {
namespace {

constexpr char kStorageCommitment[] = "1.2.840.10008.1.20.1";
// Claimed at once: little enough that several associations share a series.
constexpr int kBatch = 16;
constexpr int kAnswerSeconds = 120;
constexpr absl::Duration kBetweenRecords = absl::Seconds(1);

}  // namespace

Sender::Lane::Lane(const SendDestination& destination, const SenderOptions& options,
                   archive::TransferQueue& queue, const SendObserver& observer,
                   std::function<double()> random)
    : destination_(destination),
      options_(options),
      queue_(queue),
      observer_(observer),
      title_(destination.peer.ae_title),
      backoff_(destination.first_retry, destination.longest_retry, std::move(random)) {
  for (int i = 0; i < destination.max_associations; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

Sender::Lane::~Lane() { Stop(); }

void Sender::Lane::Wake() {
  absl::MutexLock lock(&mutex_);
  ++wakes_;
}

void Sender::Lane::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  interruptor_.Interrupt();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Sender::Lane::Run() {
  while (true) {
    int64_t seen = 0;
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
      seen = wakes_;
    }
    // An operator may end it: who is woken looks at it again.
    const absl::Time not_before = queue_.PauseOf(title_).until;
    if (options_.now() < not_before) {
      if (!WaitUntil(not_before, seen, /*wakes=*/true)) return;
      continue;
    }
    const absl::StatusOr<bool> worked = Work();
    if (!worked.ok()) {
      spdlog::error("dicom: the queue of '{}' fails: {}", title_, worked.status().ToString());
      Postpone(std::string(worked.status().message()));
      continue;
    }
    if (*worked) continue;
    const absl::StatusOr<absl::Time> next = queue_.NextDue(title_, options_.now());
    if (!WaitUntil(next.ok() ? *next : options_.now() + destination_.first_retry, seen,
                   /*wakes=*/true)) {
      return;
    }
  }
}

bool Sender::Lane::WaitUntil(absl::Time deadline, int64_t seen_wakes, bool wakes) {
  const auto over = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (wakes && wakes_ != seen_wakes);
  };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&over),
                          std::max(absl::ZeroDuration(), deadline - options_.now()));
  return !stopping_;
}

absl::StatusOr<bool> Sender::Lane::Work() {
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> classes,
                       queue_.DueClasses(title_, options_.now()));
  if (!classes.empty()) {
    ISO_RETURN_IF_ERROR(Send(classes));
    return true;
  }
  if (!destination_.route.destination.storage_commitment) return false;
  return RequestCommitments();
}

absl::Status Sender::Lane::Send(const std::vector<std::string>& sop_classes) {
  absl::StatusOr<Association> association =
      Association::Request(destination_.peer, options_.node, sop_classes, interruptor_);
  if (!association.ok()) {
    const std::string reason(association.status().message());
    Postpone(reason);
    return queue_.Explain(title_, reason, options_.now());
  }
  SentByJob sent;
  const absl::Status status = SendOn(*association, sop_classes, sent);
  Audit(sent);
  return status;
}

absl::Status Sender::Lane::SendOn(Association& association,
                                  const std::vector<std::string>& sop_classes, SentByJob& sent) {
  while (true) {
    ISO_ASSIGN_OR_RETURN(const std::vector<archive::Outgoing> batch,
                         queue_.Claim(title_, sop_classes, kBatch, options_.now()));
    if (batch.empty()) break;
    ISO_ASSIGN_OR_RETURN(const bool may_go_on, SendBatch(association, batch, sent));
    if (!may_go_on) return absl::OkStatus();
  }
  association.Release();
  return absl::OkStatus();
}

void Sender::Lane::Audit(const SentByJob& sent) const {
  if (options_.node.audit == nullptr) return;
  for (const auto& [job_id, of_job] : sent) {
    options_.node.audit->Record(
        {.action = audit::Action::kTransmit,
         .outcome = of_job.failed == 0 ? audit::Outcome::kSuccess : audit::Outcome::kFailure,
         .actor = {.name = options_.node.ae_title, .is_known = true},
         .service = "dicom",
         .destination = title_,
         .job_ids = {job_id},
         .instances = of_job.instances,
         .failed = of_job.failed,
         .detail = of_job.reason});
  }
}

absl::StatusOr<bool> Sender::Lane::SendBatch(Association& association,
                                             const std::vector<archive::Outgoing>& batch,
                                             SentByJob& sent) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const archive::Outgoing& outgoing = batch[i];
    const StoreAnswer answer =
        SendInstance(association, destination_.peer, outgoing.instance, kAnswerSeconds);
    if (answer.verdict == StoreVerdict::kStored) {
      ++sent[outgoing.job_id].instances;
    } else {
      Sent& of_job = sent[outgoing.job_id];
      ++of_job.failed;
      of_job.reason = answer.reason;
    }
    switch (answer.verdict) {
      case StoreVerdict::kStored:
        ISO_RETURN_IF_ERROR(Record([&] { return queue_.MarkSent(outgoing.key, options_.now()); }));
        Succeed();
        Report(SendEvent::kSent);
        break;
      case StoreVerdict::kRefused:
        ISO_RETURN_IF_ERROR(
            Record([&] { return queue_.MarkFailed(outgoing.key, answer.reason, options_.now()); }));
        spdlog::error("dicom: an instance of job {} cannot be sent to '{}': {}", outgoing.job_id,
                      title_, answer.reason);
        Report(SendEvent::kFailed);
        break;
      case StoreVerdict::kNotAccepted:
        ISO_RETURN_IF_ERROR(Decline(outgoing, answer.reason));
        break;
      case StoreVerdict::kTryLater:
        association.Release();
        [[fallthrough]];
      case StoreVerdict::kBroken:
        ISO_RETURN_IF_ERROR(PutBack(batch, i, answer.reason));
        Postpone(answer.reason);
        return false;
    }
  }
  return true;
}

absl::Status Sender::Lane::Decline(const archive::Outgoing& outgoing, const std::string& reason) {
  archive::TransferState state = archive::TransferState::kFailed;
  ISO_RETURN_IF_ERROR(Record([&]() -> absl::Status {
    ISO_ASSIGN_OR_RETURN(state, queue_.MarkNotAccepted(outgoing.key, reason, options_.now()));
    return absl::OkStatus();
  }));
  if (state == archive::TransferState::kFailed) {
    spdlog::error("dicom: an instance of job {} cannot be sent to '{}': {}", outgoing.job_id,
                  title_, reason);
    Report(SendEvent::kFailed);
    return absl::OkStatus();
  }
  Report(SendEvent::kSkipped);
  absl::MutexLock lock(&mutex_);
  if (declined_classes_.insert(outgoing.instance.instance.sop_class_uid).second) {
    spdlog::warn("dicom: '{}' gets volumes without one of their forms: {}", title_, reason);
  }
  return absl::OkStatus();
}

absl::Status Sender::Lane::PutBack(const std::vector<archive::Outgoing>& batch, size_t first,
                                   const std::string& reason) {
  for (size_t i = first; i < batch.size(); ++i) {
    ISO_RETURN_IF_ERROR(Record([&] {
      return queue_.Unclaim(batch[i].key, reason, /*attempted=*/i == first, options_.now());
    }));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Sender::Lane::RequestCommitments() {
  const absl::Time now = options_.now();
  ISO_ASSIGN_OR_RETURN(
      const std::optional<archive::CommitmentRequest> request,
      queue_.BeginCommitment(title_, RandomUid(), now + destination_.commitment_timeout, now));
  if (!request) return false;
  const auto postpone = [&](const absl::Status& reason) {
    return Record([&] {
      return queue_.PostponeCommitment(*request, title_, std::string(reason.message()),
                                       options_.now() + destination_.longest_retry, options_.now());
    });
  };
  Peer peer = destination_.peer;
  peer.compression = Compression::kNone;  // of images only
  absl::StatusOr<Association> association =
      Association::Request(peer, options_.node, {kStorageCommitment}, interruptor_);
  absl::Status status = association.status();
  if (status.ok()) status = RequestCommitment(*association, *request, kAnswerSeconds);
  if (!status.ok()) {
    spdlog::warn("dicom: no storage commitment of '{}' for job {}: {}", title_, request->job_id,
                 std::string(status.message()));
    const bool is_refused = !absl::IsUnavailable(status);
    if (is_refused) {
      if (association.ok()) association->Release();
      ISO_RETURN_IF_ERROR(postpone(status));
      return true;
    }
    // It is asked again as soon as the destination can be reached.
    ISO_RETURN_IF_ERROR(Record([&] {
      return queue_.PostponeCommitment(*request, title_, std::string(status.message()),
                                       options_.now(), options_.now());
    }));
    Postpone(std::string(status.message()));
    return true;
  }
  Succeed();
  AwaitReport(*association, queue_, options_.await_report, kAnswerSeconds);
  return true;
}

void Sender::Lane::Postpone(const std::string& reason) {
  absl::Duration delay;
  int failures = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    const absl::Time now = options_.now();
    // Several associations may break for one cause.
    if (now < queue_.PauseOf(title_).until) return;
    delay = backoff_.Fail();
    failures = backoff_.failures();
    queue_.SetPause(title_, {.reason = reason, .attempts = failures, .until = now + delay});
  }
  Report(SendEvent::kPostponed);
  spdlog::warn("dicom: cannot send to '{}' ({} times in a row): {}; next attempt in {}", title_,
               failures, reason, absl::FormatDuration(absl::Trunc(delay, absl::Milliseconds(1))));
}

void Sender::Lane::Succeed() {
  absl::MutexLock lock(&mutex_);
  if (backoff_.failures() > 0) queue_.SetPause(title_, {});
  backoff_.Succeed();
}

absl::Status Sender::Lane::Record(const std::function<absl::Status()>& change) {
  while (true) {
    const absl::Status status = change();
    if (status.ok()) return status;
    spdlog::error("dicom: the queue of '{}' cannot be changed: {}", title_, status.ToString());
    if (!WaitUntil(options_.now() + kBetweenRecords, 0, /*wakes=*/false)) return status;
  }
}

void Sender::Lane::Report(SendEvent event) const {
  if (observer_) observer_(title_, event);
}

}  // namespace isocenter::dicom
