// isocenter steps: what the information system is still to be told of acquisitions (MPPS).
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/commands.h"
#include "client/cli/job_text.h"
#include "client/cli/server_flags.h"
#include "client/cli/table.h"
#include "client/procedure_step_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  std::vector<std::string> states;
  int limit = 100;
  bool json = false;
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
  return {{"job_id", step.job_id()},
          {"state", StateName(step.state())},
          {"rejections", step.rejections()},
          {"reason", step.reason()},
          {"sop_instance_uid", step.sop_instance_uid()}};
}

void PrintTable(const std::vector<v1::ProcedureStep>& steps) {
  std::vector<TableRow> rows = {{"JOB", "STATE", "BEGAN", "REJECTIONS", "REASON"}};
  for (const v1::ProcedureStep& step : steps) {
    rows.push_back({step.job_id(), StateName(step.state()),
                    step.has_begin_time() ? LocalTime(step.begin_time()) : "",
                    absl::StrCat(step.rejections()), step.reason()});
  }
  std::fputs(FormatTable(rows).c_str(), stdout);
}

absl::Status List(const Options& options) {
  v1::ListProcedureStepsRequest request;
  for (const v1::ProcedureStepState state : AllStates()) {
    for (const std::string& name : options.states) {
      if (name == StateName(state)) request.add_state(state);
    }
  }
  request.set_max_results(options.limit);
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::ListProcedureStepsResponse found,
                       client::ProcedureStepClient(channel).List(request));
  if (options.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const v1::ProcedureStep& step : found.step()) all.push_back(ToJson(step));
    std::puts(all.dump(2).c_str());
  } else {
    PrintTable({found.step().begin(), found.step().end()});
  }
  if (found.truncated()) {
    std::fprintf(stderr, "isocenter: there are more than %d; --limit shows more\n", options.limit);
  }
  return absl::OkStatus();
}

absl::Status Change(const Options& options, bool drops) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  const client::ProcedureStepClient client(channel);
  ISO_ASSIGN_OR_RETURN(const v1::ProcedureStep step,
                       drops ? client.Drop(options.job_id) : client.Retry(options.job_id));
  PrintTable({step});
  return absl::OkStatus();
}

}  // namespace

void AddStepsCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App& command = *app.add_subcommand(
      "steps", "List acquisitions that the information system is still to be told of (MPPS)");
  command.footer(
      "Examples:\n  isocenter steps\n  isocenter steps --state failed --json\n  isocenter steps "
      "retry JOB\n  isocenter steps drop JOB");
  command.require_subcommand(0, 1);
  std::vector<std::string> names;
  for (const v1::ProcedureStepState state : AllStates()) names.push_back(StateName(state));
  command
      .add_option("--state", o.states,
                  "only in this state; may be repeated (default: what is not done or dropped)")
      ->check(CLI::IsMember(names));
  command.add_option("--limit", o.limit, "at most this many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_flag("--json", o.json, "for machines");
  AddServerFlags(command, o.server);
  command.callback([&command, options, &action] {
    if (command.get_subcommands().empty()) action = [options] { return List(*options); };
  });
  const auto add = [&](const char* name, const char* help, bool drops) {
    CLI::App& change = *command.add_subcommand(name, help);
    change.add_option("job", o.job_id, "job id")->required()->type_name("JOB");
    AddServerFlags(change, o.server);
    change.callback(
        [options, drops, &action] { action = [=] { return Change(*options, drops); }; });
  };
  add("retry", "Send what is due of a step now, also where it was refused", false);
  add("drop", "Send nothing more of a step; where it has begun it stays in progress", true);
}

}  // namespace isocenter::cli
