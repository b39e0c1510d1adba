#include "server/dicom/sending/lane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"
#include "server/dicom/objects/uids.h"
#include "server/dicom/sending/association_courier.h"
#include "server/dicom/sending/commitment.h"
#include "server/dicom/sending/stow_courier.h"

namespace isocenter::dicom {
namespace {

constexpr char kStorageCommitment[] = "1.2.840.10008.1.20.1";
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
      title_(destination.route.destination.ae_title),
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

std::unique_ptr<Courier> Sender::Lane::MakeCourier() {
  if (!destination_.stow) {
    return std::make_unique<AssociationCourier>(destination_.peer, options_.node, interruptor_);
  }
  return std::make_unique<StowCourier>(*destination_.stow, [this] {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  });
}

void Sender::Lane::Run() {
  const std::unique_ptr<Courier> courier = MakeCourier();
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
    const absl::StatusOr<bool> worked = Work(*courier);
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
  AwaitFor(mutex_, absl::Condition(&over), deadline - options_.now());
  return !stopping_;
}

absl::StatusOr<bool> Sender::Lane::Work(Courier& courier) {
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> classes,
                       queue_.DueClasses(title_, options_.now()));
  if (!classes.empty()) {
    ISO_RETURN_IF_ERROR(Send(courier, classes));
    return true;
  }
  if (!destination_.route.destination.storage_commitment) return false;
  return RequestCommitments();
}

absl::Status Sender::Lane::Send(Courier& courier, const std::vector<std::string>& sop_classes) {
  if (const absl::Status opened = courier.Open(sop_classes); !opened.ok()) {
    const std::string reason(opened.message());
    Postpone(reason);
    return queue_.Explain(title_, reason, options_.now());
  }
  SentByJob sent;
  const absl::StatusOr<bool> in_order = SendAll(courier, sop_classes, sent);
  courier.Close(in_order.ok() && *in_order);
  Audit(courier.service(), sent);
  return in_order.status();
}

absl::StatusOr<bool> Sender::Lane::SendAll(Courier& courier,
                                           const std::vector<std::string>& sop_classes,
                                           SentByJob& sent) {
  while (true) {
    ISO_ASSIGN_OR_RETURN(
        const std::vector<archive::Outgoing> batch,
        queue_.Claim(title_, sop_classes, courier.claimed_at_once(), options_.now()));
    if (batch.empty()) return true;
    ISO_ASSIGN_OR_RETURN(const bool may_go_on, SendBatch(courier, batch, sent));
    if (!may_go_on) return false;
  }
}

void Sender::Lane::Audit(const std::string& service, const SentByJob& sent) const {
  if (options_.node.audit == nullptr) return;
  for (const auto& [job_id, of_job] : sent) {
    options_.node.audit->Record(
        {.action = audit::Action::kTransmit,
         .outcome = of_job.failed == 0 ? audit::Outcome::kSuccess : audit::Outcome::kFailure,
         .actor = {.name = options_.node.ae_title, .is_known = true},
         .service = service,
         .destination = title_,
         .job_ids = {job_id},
         .instances = of_job.instances,
         .failed = of_job.failed,
         .detail = of_job.reason});
  }
}

absl::StatusOr<bool> Sender::Lane::SendBatch(Courier& courier,
                                             const std::vector<archive::Outgoing>& batch,
                                             SentByJob& sent) {
  std::span<const archive::Outgoing> left = batch;
  while (!left.empty()) {
    const std::vector<StoreAnswer> answers = courier.Carry(left);
    const StoreAnswer* later = nullptr;
    for (size_t i = 0; i < answers.size(); ++i) {
      ISO_RETURN_IF_ERROR(Settle(left[i], answers[i], sent));
      const StoreVerdict verdict = answers[i].verdict;
      if (verdict == StoreVerdict::kTryLater || verdict == StoreVerdict::kBroken) {
        later = &answers[i];
      }
    }
    left = left.subspan(answers.size());
    if (later == nullptr) continue;
    ISO_RETURN_IF_ERROR(PutBack(left, later->reason, /*attempted=*/false));
    Postpone(later->reason, later->retry_after);
    if (!later->has_begun) {
      ISO_RETURN_IF_ERROR(queue_.Explain(title_, later->reason, options_.now()));
    }
    return false;
  }
  return true;
}

absl::Status Sender::Lane::Settle(const archive::Outgoing& outgoing, const StoreAnswer& answer,
                                  SentByJob& sent) {
  if (answer.verdict == StoreVerdict::kStored) {
    ++sent[outgoing.job_id].instances;
  } else if (answer.has_begun) {
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
      return Decline(outgoing, answer.reason);
    case StoreVerdict::kTryLater:
    case StoreVerdict::kBroken:
      return PutBack({&outgoing, 1}, answer.reason, /*attempted=*/true);
  }
  return absl::OkStatus();
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

absl::Status Sender::Lane::PutBack(std::span<const archive::Outgoing> instances,
                                   const std::string& reason, bool attempted) {
  for (const archive::Outgoing& outgoing : instances) {
    ISO_RETURN_IF_ERROR(
        Record([&] { return queue_.Unclaim(outgoing.key, reason, attempted, options_.now()); }));
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

void Sender::Lane::Postpone(const std::string& reason, absl::Duration retry_after) {
  absl::Duration delay;
  int failures = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    const absl::Time now = options_.now();
    // Several associations may break for one cause.
    if (now < queue_.PauseOf(title_).until) return;
    delay = std::max(backoff_.Fail(), std::min(retry_after, destination_.longest_retry));
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
