#include "server/http/queued_transfers.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::http {
namespace {

using archive::TransferState;

int Count(const std::map<TransferState, int64_t>& counts, TransferState state) {
  return static_cast<int>(archive::CountOf(counts, state));
}

absl::StatusOr<TransferState> ParseState(const std::string& name) {
  for (const TransferState state :
       {TransferState::kQueued, TransferState::kSending, TransferState::kSent,
        TransferState::kCommitted, TransferState::kFailed, TransferState::kSkipped}) {
    if (archive::Name(state) == name) return state;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "state is '", name, "'; legal is queued, sending, sent, committed, failed or skipped"));
}

TransferSummary SummaryOf(const archive::Transfer& transfer) {
  return {.job_id = transfer.job_id,
          .destination = transfer.destination,
          .state = std::string(archive::Name(transfer.state)),
          .queued = Count(transfer.counts, TransferState::kQueued),
          .sending = Count(transfer.counts, TransferState::kSending),
          .sent = Count(transfer.counts, TransferState::kSent),
          .committed = Count(transfer.counts, TransferState::kCommitted),
          .failed = Count(transfer.counts, TransferState::kFailed),
          .skipped = Count(transfer.counts, TransferState::kSkipped),
          .attempts = static_cast<int>(transfer.attempts),
          .message = transfer.reason,
          .storage_commitment = transfer.storage_commitment,
          .done = transfer.done,
          .create_time = transfer.enqueue_time,
          .update_time = transfer.update_time};
}

}  // namespace

std::vector<TransferDestination> QueuedTransfers::Destinations() {
  std::vector<TransferDestination> shown = configured_;
  const auto lengths = queue_.Lengths();
  if (!lengths.ok()) return shown;
  for (TransferDestination& destination : shown) {
    const auto length = lengths->find(destination.name);
    if (length == lengths->end()) continue;
    destination.queued = Count(length->second.counts, TransferState::kQueued);
    destination.sending = Count(length->second.counts, TransferState::kSending);
    destination.failed = Count(length->second.counts, TransferState::kFailed);
    destination.reason = length->second.reason;
    destination.attempts = length->second.attempts;
    destination.next_try = length->second.next_try;
    if (!length->second.oldest) continue;
    destination.oldest_seconds =
        std::max(0.0, absl::ToDoubleSeconds(clock_() - *length->second.oldest));
  }
  return shown;
}

absl::StatusOr<TransferPage> QueuedTransfers::List(const TransferFilter& filter, int page_size,
                                                   const std::string& page_token) {
  archive::TransferFilter wanted{.job_id = filter.job_id, .destination = filter.destination};
  for (const std::string& name : filter.states) {
    ISO_ASSIGN_OR_RETURN(wanted.states.emplace_back(), ParseState(name));
  }
  // A token is the key of the last transfer of the page before.
  int64_t before = 0;
  if (!page_token.empty()) {
    if (!absl::SimpleAtoi(page_token, &before)) {
      return absl::InvalidArgumentError(
          absl::StrCat("page_token is '", page_token, "'; legal is one that a page ended with"));
    }
    wanted.before_key = before;
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<archive::Transfer> found,
                       queue_.List(wanted, page_size + 1));
  TransferPage page;
  for (const archive::Transfer& transfer : found) {
    if (static_cast<int>(page.transfers.size()) == page_size) {
      page.next_page_token = absl::StrCat(before);
      break;
    }
    before = transfer.first_key;
    page.transfers.push_back(SummaryOf(transfer));
  }
  return page;
}

absl::StatusOr<int> QueuedTransfers::Retry(const std::string& job_id,
                                           const std::string& destination) {
  ISO_ASSIGN_OR_RETURN(const int64_t count, queue_.Retry(job_id, destination, clock_()));
  return static_cast<int>(count);
}

absl::StatusOr<int> QueuedTransfers::TryNow(const std::string& destination) {
  ISO_ASSIGN_OR_RETURN(const int64_t count, queue_.TryNow(destination, clock_()));
  return static_cast<int>(count);
}

absl::StatusOr<int> QueuedTransfers::Send(const std::string& job_id, const std::string& destination,
                                          bool again) {
  ISO_ASSIGN_OR_RETURN(const int64_t count, queue_.Send(job_id, destination, again, clock_()));
  return static_cast<int>(count);
}

}  // namespace isocenter::http
