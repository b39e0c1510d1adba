// isocenter steps: what the information system is still to be told of acquisitions (MPPS).
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/procedure_step_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  std::vector<std::string> states;
  int limit = 100;
  JsonOutput json;
};

/// "beginning", "in_progress", ...
std::string StateName(v1::ProcedureStepState state) {
  return absl::AsciiStrToLower(
      std::string(absl::StripPrefix(v1::ProcedureStepState_Name(state), "PROCEDURE_STEP_STATE_")));
}

std::vector<v1::ProcedureStepState> AllStates() {
  std::vector<v1::ProcedureStepState> states;
  for (int s = v1::ProcedureStepState_MIN + 1; s <= v1::ProcedureStepState_MAX; ++s) {
    states.push_back(static_cast<v1::ProcedureStepState>(s));
  }
  return states;
}

nlohmann::ordered_json ToJson(const v1::ProcedureStep& step) {
  nlohmann::ordered_json json{{"job_id", step.job_id()},
                              {"state", StateName(step.state())},
                              {"rejections", step.rejections()},
                              {"reason", step.reason()},
                              {"sop_instance_uid", step.sop_instance_uid()}};
  if (step.has_begin_time()) json["begin_time"] = JsonTime(step.begin_time());
  return json;
}

std::string Table(const std::vector<v1::ProcedureStep>& steps) {
  std::vector<TableRow> rows = {{"JOB", "STATE", "BEGAN", "REJECTIONS", "REASON"}};
  for (const v1::ProcedureStep& step : steps) {
    rows.push_back({step.job_id(), StateName(step.state()),
                    step.has_begin_time() ? LocalTime(step.begin_time()) : "",
                    absl::StrCat(step.rejections()), step.reason()});
  }
  return FormatTable(rows);
}

absl::Status List(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  v1::ListProcedureStepsRequest request;
  for (const v1::ProcedureStepState state : AllStates()) {
    for (const std::string& name : options.states) {
      if (name == StateName(state)) request.add_state(state);
    }
  }
  request.set_max_results(options.limit);
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::ListProcedureStepsResponse found,
                       client::ProcedureStepClient(channel).List(request));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const v1::ProcedureStep& step : found.step()) all.push_back(ToJson(step));
  ISO_RETURN_IF_ERROR(options.json.Report(Table({found.step().begin(), found.step().end()}), all));
  if (found.truncated()) {
    std::fprintf(stderr, "isocenter: there are more than %d; --limit shows more\n", options.limit);
  }
  return absl::OkStatus();
}

absl::Status Change(const Options& options, bool drops) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  const client::ProcedureStepClient client(channel);
  ISO_ASSIGN_OR_RETURN(const v1::ProcedureStep step,
                       drops ? client.Drop(options.job_id) : client.Retry(options.job_id));
  return options.json.Report(Table({step}), ToJson(step));
}

}  // namespace

void AddStepsCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand(
      "steps", "List acquisitions that the information system is still to be told of (MPPS)");
  command.Footer(
      "Examples:\n  isocenter steps\n  isocenter steps --state failed --json\n  isocenter steps "
      "retry JOB\n  isocenter steps drop JOB");
  command.SubcommandIsOptional();
  std::vector<std::string> names;
  for (const v1::ProcedureStepState state : AllStates()) names.push_back(StateName(state));
  command
      .Add("--state", o.states,
           "only in these states, with commas or repeated (default: what is not done or dropped)")
      .Separator(',')
      .OneOf(names);
  command.Add("--limit", o.limit, "at most this many").ShowDefault().Range(1, 1000);
  o.json.AddFlag(command);
  AddServerFlags(command, o.server);
  command.Does([options] { return List(*options); });
  const auto add = [&](const char* name, const char* help, bool drops) {
    flags::Command change = command.Subcommand(name, help);
    AddJobArgument(change, o.job_id).Required();
    o.json.AddFlag(change);
    AddServerFlags(change, o.server);
    change.Does([=] { return Change(*options, drops); });
  };
  add("retry", "Send what is due of a step now, also where it was refused", false);
  add("drop", "Send nothing more of a step; where it has begun it stays in progress", true);
}

}  // namespace isocenter::cli
