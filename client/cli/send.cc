// isocenter send and isocenter retry: results to DICOM destinations, on request.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/cli/output/transfer_text.h"
#include "client/flags/wrong_usage.h"
#include "client/transfer_client.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/field_checks.h"

namespace isocenter::cli {
namespace {

struct SendOptions {
  client::ServerAddress server;
  std::string job_id, destination, patient_id, date;
  bool again = false;
  JsonOutput json;
};

/// Nothing was queued although somebody asked for it: what is there already needs --again.
void SayWhatIsThere(const SendOptions& options) {
  std::fprintf(stderr, options.again
                           ? "isocenter: all of it is on its way already\n"
                           : "isocenter: nothing is sent now: all of it is on its way or sent "
                             "already; --again sends what the destination has lost\n");
}

absl::Status SendOne(const SendOptions& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  v1::SendJobRequest request;
  request.set_job_id(options.job_id);
  request.set_destination(options.destination);
  request.set_again(options.again);
  ISO_ASSIGN_OR_RETURN(const v1::SendJobResponse sent,
                       client::TransferClient(channel).Send(request));
  nlohmann::ordered_json json = ToJson(sent.transfer());
  json["newly_queued_count"] = sent.newly_queued_count();
  if (sent.newly_queued_count() == 0) SayWhatIsThere(options);
  return options.json.Report(TransferTable({sent.transfer()}), json);
}

/// Of a day, or of days from the first to the last, in local time.
absl::Status SetDate(const std::string& text, v1::SendJobsRequest& request) {
  const std::vector<std::string> parts = absl::StrSplit(text, '-');
  const std::optional<absl::CivilDay> first = wire::DayOf(parts.front()),
                                      last = wire::DayOf(parts.back());
  if (parts.size() > 2 || !first || !last || *last < *first) {
    return flags::WrongUsage(absl::StrCat(
        "--date is '", text, "'; legal is a day as YYYYMMDD, or a range YYYYMMDD-YYYYMMDD"));
  }
  const auto seconds = [](absl::CivilDay day) {
    return absl::ToUnixSeconds(absl::FromCivil(day, absl::LocalTimeZone()));
  };
  request.mutable_begin()->set_seconds(seconds(*first));
  request.mutable_end()->set_seconds(seconds(*last + 1));
  return absl::OkStatus();
}

using SentAnswers = std::vector<client::NodeAnswer<v1::SendJobsResponse>>;

/// A row and a member for each series; how many could not be sent.
int Append(const v1::SentJob& job, std::vector<TableRow>& rows, nlohmann::ordered_json& list) {
  const v1::Transfer& transfer = job.transfer();
  const bool failed = !job.error_message().empty();
  rows.push_back({job.job_id(), job.series_instance_uid(), transfer.destination(),
                  failed ? "not sent" : StateName(transfer.state()),
                  absl::StrCat(job.newly_queued_count()), job.error_message()});
  nlohmann::ordered_json json = {{"job_id", job.job_id()},
                                 {"series_instance_uid", job.series_instance_uid()},
                                 {"newly_queued_count", job.newly_queued_count()}};
  if (failed) {
    json["error_message"] = job.error_message();
  } else {
    json["transfer"] = ToJson(transfer);
  }
  list.push_back(std::move(json));
  return failed ? 1 : 0;
}

absl::Status SendSeveral(const SendOptions& options) {
  v1::SendJobsRequest request;
  request.set_destination(options.destination);
  request.set_again(options.again);
  request.set_patient_id(options.patient_id);
  if (!options.date.empty()) ISO_RETURN_IF_ERROR(SetDate(options.date, request));
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  const SentAnswers answers =
      cluster.AskAll<v1::SendJobsResponse>([&](const client::ServiceChannel& channel) {
        return client::TransferClient(channel).Send(request);
      });
  const absl::Status completeness = Completeness(answers);
  if (NoneOf(answers)) return completeness;
  std::vector<TableRow> rows = {{"JOB", "SERIES", "DESTINATION", "STATE", "QUEUED NOW", "WHY NOT"}};
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  int failed = 0;
  uint32_t queued = 0;
  for (const auto& [node, answer] : answers) {
    if (!answer.ok()) continue;
    for (const v1::SentJob& job : answer->job()) {
      failed += Append(job, rows, list);
      queued += job.newly_queued_count();
    }
  }
  if (list.empty()) {
    std::fputs("isocenter: no completed job is of that patient and time\n", stderr);
  } else if (queued == 0 && failed == 0) {
    SayWhatIsThere(options);
  }
  const size_t all = list.size();
  ISO_RETURN_IF_ERROR(options.json.Report(FormatTable(rows), {{"series", std::move(list)}}));
  if (failed == 0) return completeness;
  return flags::NotPassed(absl::StrCat(failed, " of ", all, " series cannot be sent"));
}

absl::Status Send(const SendOptions& options) {
  const bool several = !options.patient_id.empty() || !options.date.empty();
  if (options.job_id.empty() && !several) {
    return flags::WrongUsage(
        "what is to be sent is not said; legal is a JOB, --patient-id, --date, or these two");
  }
  ISO_RETURN_IF_ERROR(options.json.Check());
  return several ? SendSeveral(options) : SendOne(options);
}

struct RetryOptions {
  client::ServerAddress server;
  std::string job_id, destination;
  bool all = false;
  JsonOutput json;
};

absl::Status Retry(const RetryOptions& options) {
  if (options.job_id.empty() && options.destination.empty() && !options.all) {
    return flags::WrongUsage(
        "what is to be tried again is not said; legal is a JOB, --to, both, or --all");
  }
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  v1::RetryTransfersRequest request;
  request.set_job_id(options.job_id);
  request.set_destination(options.destination);
  request.set_all(options.all);
  const auto answers = cluster.AskAll<int>([&](const client::ServiceChannel& channel) {
    return client::TransferClient(channel).Retry(request);
  });
  absl::Status completeness = Completeness(answers);
  if (NoneOf(answers)) return completeness;
  int count = 0;
  for (const client::NodeAnswer<int>& answer : answers) count += answer.value.value_or(0);
  if (count == 0 && !options.job_id.empty()) {
    ISO_RETURN_IF_ERROR(client::HoldersOfJob(cluster, options.job_id).status());
  }
  if (count == 0) {
    std::fputs(
        "isocenter: no transfer that waits or has failed matches; `isocenter transfers` lists "
        "them\n",
        stderr);
  }
  ISO_RETURN_IF_ERROR(options.json.Report(absl::StrCat(count, " instances are tried now\n"),
                                          {{"instance_count", count}}));
  return completeness;
}

}  // namespace

void AddSendCommand(flags::Command program) {
  auto options = std::make_shared<SendOptions>();
  flags::Command command =
      program.Subcommand("send", "Send results to a DICOM destination, also again");
  command.Footer(
      "Examples:\n"
      "  isocenter send JOB --to PACS\n"
      "  isocenter send JOB --to PACS --again             although PACS has confirmed it\n"
      "  isocenter send --date 20260131 --to PACS --again     all of a day, e.g. after a restore\n"
      "  isocenter send --patient-id P123 --to PACS --again\n"
      "The server sends in the background and goes on after a restart; `isocenter transfers` "
      "follows it. What is on its way already stays as it is, so a repeated command does no harm.");
  flags::Option job = AddJobArgument(command, options->job_id);
  command.Add("--patient-id", options->patient_id, "all completed jobs of this Patient ID")
      .Type("ID")
      .Excludes(job);
  command
      .Add("--date", options->date,
           "all completed jobs of this day: YYYYMMDD, or a range YYYYMMDD-YYYYMMDD")
      .Type("DATE")
      .Excludes(job);
  command.AddSwitch("--again", options->again,
                    "also what the destination has confirmed: it has lost it");
  command
      .Add("--to", options->destination,
           "AE title or name of a configured destination; not needed where there is only one")
      .Type("AE");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Send(*options); });
}

void AddRetryCommand(flags::Command program) {
  auto options = std::make_shared<RetryOptions>();
  flags::Command command = program.Subcommand(
      "retry", "Try now to send what DICOM destinations have refused, or what waits for them");
  command.Footer(
      "Examples:\n"
      "  isocenter retry JOB\n"
      "  isocenter retry --to PACS        all that PACS has refused or that waits for it\n"
      "  isocenter retry --all\n"
      "What waits for its next attempt (`isocenter transfers` tells when that is) is tried at "
      "once.");
  flags::Option job = AddJobArgument(command, options->job_id);
  flags::Option to =
      command.Add("--to", options->destination, "only to this destination").Type("AE");
  command.AddSwitch("--all", options->all, "everything that has failed or waits")
      .Excludes(job)
      .Excludes(to);
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Retry(*options); });
}

}  // namespace isocenter::cli
