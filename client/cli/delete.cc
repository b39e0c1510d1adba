// isocenter delete: removes jobs with their volumes and DICOM objects, by name or by age.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_selection.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/flags/exit_code.h"
#include "client/flags/wrong_usage.h"
#include "client/job_client.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::vector<std::string> job_ids;
  JobSelection selection;
  bool force = false, dry_run = false, yes = false;
  JsonOutput json;
};

/// A job that was to be deleted, and is still there.
struct Refused {
  std::string job_id, why;
};

std::string Jobs(size_t count) { return count == 1 ? "1 job" : absl::StrCat(count, " jobs"); }

/// The error of a command that has done what it could.
absl::Status StillThere(const std::vector<Refused>& refused) {
  if (refused.empty()) return absl::OkStatus();
  std::string why = absl::StrCat(Jobs(refused.size()), " could not be deleted:");
  for (const Refused& job : refused) absl::StrAppend(&why, "\n  ", job.job_id, ": ", job.why);
  return flags::RefusedByService(why);
}

/// What concerns one job alone does not keep the others from being deleted.
bool IsOfOneJob(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
}

// ---- by name

absl::Status DeleteEverywhere(const Options& options, const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(const std::vector<JobService> services,
                       ServicesOfJob(options.server, job_id));
  for (const JobService& service : services) {
    ISO_RETURN_IF_ERROR(client::JobClient(service.channel).Delete(job_id, options.force));
  }
  return absl::OkStatus();
}

absl::Status DeleteNamed(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  std::vector<Refused> refused;
  std::string text;
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  for (const std::string& id : options.job_ids) {
    const absl::Status deleted = DeleteEverywhere(options, id);
    if (!deleted.ok() && (options.job_ids.size() == 1 || !IsOfOneJob(deleted))) return deleted;
    nlohmann::ordered_json document = {{"job_id", id}, {"deleted", deleted.ok()}};
    if (deleted.ok()) {
      absl::StrAppend(&text, "job ", id, " is deleted\n");
    } else {
      refused.push_back({id, std::string(deleted.message())});
      document["error_message"] = refused.back().why;
    }
    documents.push_back(std::move(document));
  }
  ISO_RETURN_IF_ERROR(
      options.json.Report(text, documents.size() == 1 ? documents.front() : documents));
  return StillThere(refused);
}

// ---- by age

std::string DateOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M", time, absl::LocalTimeZone());
}

std::string Summary(const SelectedJobs& selected) {
  std::string text = selected.jobs.empty() ? "no job is to be deleted" : Jobs(selected.jobs.size());
  if (!selected.jobs.empty()) {
    absl::StrAppend(&text, ", about ", BytesText(selected.bytes()), "; the oldest ended ",
                    DateOf(selected.jobs.front().ended), ", the newest ",
                    DateOf(selected.jobs.back().ended));
  }
  if (selected.kept > 0) {
    absl::StrAppend(&text, "\n", Jobs(static_cast<size_t>(selected.kept)),
                    selected.kept == 1 ? " is" : " are",
                    " as old and stay: not all of their images are confirmed by a destination");
  }
  return absl::StrCat(text, "\n");
}

std::string JsonTimeOf(absl::Time time) {
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(absl::ToUnixSeconds(time));
  return JsonTime(stamp);
}

nlohmann::ordered_json Document(const SelectedJobs& selected, int deleted,
                                const std::vector<Refused>& refused) {
  nlohmann::ordered_json document = {{"selected_count", selected.jobs.size()},
                                     {"estimated_bytes", selected.bytes()},
                                     {"kept_count", selected.kept},
                                     {"deleted_count", deleted}};
  if (!selected.jobs.empty()) {
    document["oldest_end_time"] = JsonTimeOf(selected.jobs.front().ended);
    document["newest_end_time"] = JsonTimeOf(selected.jobs.back().ended);
  }
  document["refused"] = nlohmann::ordered_json::array();
  for (const Refused& job : refused) {
    document["refused"].push_back({{"job_id", job.job_id}, {"error_message", job.why}});
  }
  return document;
}

bool IsTerminal() { return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0; }

bool AgreesToDelete() {
  std::fputs("Delete them? They then exist only where they were sent or fetched to. [y/N] ",
             stderr);
  const int answer = std::fgetc(stdin);
  return answer == 'y' || answer == 'Y';
}

absl::Status CheckUsage(const Options& options) {
  const JobSelection& selection = options.selection;
  if (!selection.older_than_seconds) {
    if (options.job_ids.empty()) {
      return flags::WrongUsage("which jobs? JOB, or several, or --older-than 30d");
    }
    if (selection.delivered || options.dry_run || !selection.station.empty() ||
        !selection.protocol.empty()) {
      return flags::WrongUsage(
          "--delivered, --station, --protocol and --dry-run are of --older-than");
    }
    return absl::OkStatus();
  }
  if (!options.job_ids.empty()) {
    return flags::WrongUsage(
        absl::StrCat("JOB is '", options.job_ids.front(),
                     "' and --older-than is given; legal is one or the other"));
  }
  if (!options.yes && !options.dry_run && !IsTerminal()) {
    return flags::WrongUsage("--older-than needs --yes, or --dry-run, where nobody can be asked");
  }
  return absl::OkStatus();
}

absl::Status DeleteOld(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  std::vector<client::NodeAnswer<bool>> asked;
  const SelectedJobs selected = SelectJobs(cluster, options.selection, absl::Now(), asked);
  const absl::Status completeness = Completeness(asked);
  if (NoneOf(asked)) return completeness;
  std::fputs(Summary(selected).c_str(), options.json.progress());
  std::fflush(options.json.progress());
  std::vector<Refused> refused;
  int deleted = 0;
  if (options.dry_run || selected.jobs.empty() || (!options.yes && !AgreesToDelete())) {
    ISO_RETURN_IF_ERROR(
        options.json.Report(options.dry_run || selected.jobs.empty() ? "" : "nothing is deleted\n",
                            Document(selected, deleted, refused)));
    return completeness;
  }
  for (const SelectedJob& job : selected.jobs) {
    const client::JobClient client(*cluster.nodes()[job.node].channel);
    const absl::Status status = client.Delete(job.id);
    if (status.ok()) {
      ++deleted;
    } else if (absl::IsFailedPrecondition(status)) {
      refused.push_back({job.id, std::string(status.message())});
    } else if (!absl::IsNotFound(status)) {  // somebody else was faster
      std::fprintf(stderr, "isocenter: %d of %s deleted; the same command goes on\n", deleted,
                   Jobs(selected.jobs.size()).c_str());
      return status;
    }
  }
  ISO_RETURN_IF_ERROR(
      options.json.Report(absl::StrCat(Jobs(static_cast<size_t>(deleted)), " deleted\n"),
                          Document(selected, deleted, refused)));
  ISO_RETURN_IF_ERROR(StillThere(refused));
  return completeness;
}

absl::Status Delete(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckUsage(options));
  return options.selection.older_than_seconds ? DeleteOld(options) : DeleteNamed(options);
}

}  // namespace

void AddDeleteCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  JobSelection& selection = options->selection;
  flags::Command command =
      program.Subcommand("delete", "Remove ended jobs with their volumes and DICOM objects");
  command.Footer(
      "Examples:\n"
      "  isocenter delete JOB\n"
      "  isocenter delete --older-than 30d --delivered --dry-run\n"
      "  isocenter delete --older-than 30d --delivered --yes --token-file administrator.token\n"
      "A volume that is deleted exists only where it was sent or fetched to. A job that a DICOM "
      "destination is still to get is never deleted by its age.");
  command
      .Add("job", options->job_ids,
           "ids of jobs, which `isocenter stream` and `isocenter jobs` show")
      .Type("JOB...");
  const flags::Option force =
      command.AddSwitch("--force", options->force,
                        "also when DICOM destinations have not confirmed that they have it");
  command.AddSwitch("--yes", options->yes,
                    "without asking; of a JOB that is named nobody is asked anyway");
  flags::Command by_age = command.Under("By age, of all nodes");
  by_age
      .Add("--older-than", selection.older_than_seconds,
           "jobs that ended so long ago or before, with its unit, e.g. 30d or 12h")
      .Age(1e9)
      .Excludes(force);
  by_age.AddSwitch("--delivered", selection.delivered,
                   "only those of which every image is confirmed by every destination it goes to");
  by_age.Add("--station", selection.station, "only jobs of this station").Identifier();
  by_age.Add("--protocol", selection.protocol, "only jobs of this protocol");
  by_age.AddSwitch("--dry-run", options->dry_run, "only say what would be deleted");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Delete(*options); });
}

}  // namespace isocenter::cli
