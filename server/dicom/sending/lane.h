// The threads that send to one destination.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/backoff.h"
#include "server/dicom/net/association.h"
#include "server/dicom/sending/courier.h"
#include "server/dicom/sending/sender.h"

namespace isocenter::dicom {

class Sender::Lane {
 public:
  /// All must outlive the lane. `random` as in Backoff; called under the lane's lock.
  Lane(const SendDestination& destination, const SenderOptions& options,
       archive::TransferQueue& queue, const SendObserver& observer, std::function<double()> random);
  ~Lane();
  /// There may be something new to do.
  void Wake();
  void Stop();

 private:
  std::unique_ptr<Courier> MakeCourier();
  void Run();
  /// Does what is due; false when nothing is.
  absl::StatusOr<bool> Work(Courier& courier);
  /// Sends until nothing of these classes is due or something goes wrong.
  absl::Status Send(Courier& courier, const std::vector<std::string>& sop_classes);
  struct Sent {
    int64_t instances = 0, failed = 0;
    std::string reason;  // of the last that failed
  };
  using SentByJob = std::map<std::string, Sent>;
  /// False: something went wrong.
  absl::StatusOr<bool> SendAll(Courier& courier, const std::vector<std::string>& sop_classes,
                               SentByJob& sent);
  /// One record for each job of a row of instances.
  void Audit(const std::string& service, const SentByJob& sent) const;
  /// Sends the instances in order. False: the rest was put back, and sending must pause.
  absl::StatusOr<bool> SendBatch(Courier& courier, const std::vector<archive::Outgoing>& batch,
                                 SentByJob& sent);
  /// What the answer means for the instance in the queue, and for the record.
  absl::Status Settle(const archive::Outgoing& outgoing, const StoreAnswer& answer,
                      SentByJob& sent);
  /// What the destination takes no instances of.
  absl::Status Decline(const archive::Outgoing& outgoing, const std::string& reason);
  /// `attempted` as in TransferQueue::Unclaim.
  absl::Status PutBack(std::span<const archive::Outgoing> instances, const std::string& reason,
                       bool attempted);
  absl::StatusOr<bool> RequestCommitments();
  /// Nobody tries again before a delay has passed, and what the destination asks for, within the
  /// longest delay; unless an operator says so.
  void Postpone(const std::string& reason, absl::Duration retry_after = absl::ZeroDuration());
  void Succeed();
  /// Repeats a change of the queue until it succeeds or the lane stops: what the destination has
  /// answered must not be forgotten because the disk is full for a while.
  absl::Status Record(const std::function<absl::Status()>& change);
  /// Waits until `deadline` unless the lane stops or, where `wakes`, there is something new. False:
  /// it stops.
  bool WaitUntil(absl::Time deadline, int64_t seen_wakes, bool wakes);
  void Report(SendEvent event) const;

  const SendDestination& destination_;
  const SenderOptions& options_;
  archive::TransferQueue& queue_;
  const SendObserver& observer_;
  const std::string title_;
  Interruptor interruptor_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t wakes_ ABSL_GUARDED_BY(mutex_) = 0;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> declined_classes_ ABSL_GUARDED_BY(mutex_);  // that were reported
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace isocenter::dicom
