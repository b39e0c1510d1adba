#include "client/cli/output/transfer_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"

namespace isocenter::cli {
namespace {

uint32_t CountOf(const v1::Transfer& t) {
  return t.queued_count() + t.sending_count() + t.sent_count() + t.committed_count() +
         t.failed_count() + t.skipped_count();
}

}  // namespace

std::string StateName(v1::TransferState state) {
  return absl::AsciiStrToLower(
      std::string(absl::StripPrefix(v1::TransferState_Name(state), "TRANSFER_STATE_")));
}

std::string TransferTable(const std::vector<v1::Transfer>& transfers) {
  std::vector<TableRow> rows = {{"JOB", "DESTINATION", "STATE", "QUEUED SINCE", "SENT", "COMMITTED",
                                 "FAILED", "SKIPPED", "OF", "NEXT TRY", "REASON"}};
  for (const v1::Transfer& t : transfers) {
    rows.push_back(
        {t.job_id(), t.destination(), StateName(t.state()), LocalTime(t.enqueue_time()),
         absl::StrCat(t.sent_count() + t.committed_count()),
         t.storage_commitment() ? absl::StrCat(t.committed_count()) : "-",
         absl::StrCat(t.failed_count()), absl::StrCat(t.skipped_count()), absl::StrCat(CountOf(t)),
         t.has_next_attempt_time() ? LocalTime(t.next_attempt_time()) : "-", t.reason()});
  }
  return FormatTable(rows);
}

nlohmann::ordered_json ToJson(const v1::Transfer& t) {
  nlohmann::ordered_json json = {{"job_id", t.job_id()},
                                 {"destination", t.destination()},
                                 {"state", StateName(t.state())},
                                 {"done", t.done()},
                                 {"instance_count", CountOf(t)},
                                 {"queued_count", t.queued_count()},
                                 {"sending_count", t.sending_count()},
                                 {"sent_count", t.sent_count()},
                                 {"committed_count", t.committed_count()},
                                 {"failed_count", t.failed_count()},
                                 {"skipped_count", t.skipped_count()},
                                 {"reason", t.reason()},
                                 {"attempts", t.attempts()},
                                 {"storage_commitment", t.storage_commitment()},
                                 {"enqueue_time", JsonTime(t.enqueue_time())},
                                 {"update_time", JsonTime(t.update_time())}};
  if (t.has_next_attempt_time()) json["next_attempt_time"] = JsonTime(t.next_attempt_time());
  return json;
}

}  // namespace isocenter::cli
