#include "tests/bench/rooms/acquisition_log.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::bench {
namespace {

const char* Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted:
      return "completed";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kFailed:
      return "failed";
  }
  return "failed";
}

nlohmann::ordered_json OrNull(const std::optional<double>& seconds) {
  return seconds ? nlohmann::ordered_json(*seconds) : nullptr;
}

}  // namespace

std::string LineOf(const std::string& room, const AcquisitionRecord& record) {
  nlohmann::ordered_json moves = nlohmann::ordered_json::array();
  for (const Move& move : record.moves) {
    moves.push_back({{"node", move.node},
                     {"accepted", move.accepted},
                     {"first_acknowledged", OrNull(move.first_acknowledged)}});
  }
  const nlohmann::ordered_json line = {
      {"room", room},
      {"outcome", Name(record.outcome)},
      {"error", record.error},
      {"job_id", record.job_id},
      {"series_instance_uid", record.series_instance_uid},
      {"first_node", record.first_node},
      {"node", record.node},
      {"due", record.due},
      {"begun", record.begun},
      {"accepted", OrNull(record.accepted)},
      {"last_frame", OrNull(record.last_frame)},
      {"ended", record.ended},
      {"frames_sent", record.frames_sent},
      {"frames_lost", record.frames_unacknowledged + record.frames_missing_in_result},
      {"reconnects", record.reconnects},
      {"moves", moves}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

absl::StatusOr<AcquisitionLog> AcquisitionLog::Open(const std::string& path) {
  AcquisitionLog log;
  log.path_ = path;
  if (!path.empty()) log.file_.open(path, std::ios::trunc);
  if (!path.empty() && !log.file_) {
    return absl::UnavailableError(absl::StrCat(path, " cannot be written"));
  }
  return log;
}

absl::Status AcquisitionLog::Add(const std::string& room, const AcquisitionRecord& record) {
  if (path_.empty()) return absl::OkStatus();
  file_ << LineOf(room, record) << std::endl;
  if (!file_) return absl::UnavailableError(absl::StrCat(path_, " cannot be written"));
  return absl::OkStatus();
}

}  // namespace isocenter::bench
