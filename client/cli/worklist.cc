// isocenter worklist: what the hospital's information system has scheduled.
#include <cstdio>
#include <memory>

#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string accession, patient_id, station, date;
  int limit = 100;
  JsonOutput json;
};

nlohmann::ordered_json StepToJson(const v1::ScheduledStep& step) {
  const v1::PatientStudy& identity = step.patient_study();
  return {{"accession_number", identity.accession_number()},
          {"patient_id", identity.patient_id()},
          {"patient_name", identity.patient_name()},
          {"patient_birth_date", identity.patient_birth_date()},
          {"patient_sex", identity.patient_sex()},
          {"study_instance_uid", identity.study_instance_uid()},
          {"study_description", identity.study_description()},
          {"referring_physician_name", identity.referring_physician_name()},
          {"requested_procedure_id", step.requested_procedure_id()},
          {"requested_procedure_description", step.requested_procedure_description()},
          {"scheduled_step_id", step.scheduled_step_id()},
          {"scheduled_step_description", step.scheduled_step_description()},
          {"station_ae_title", step.station_ae_title()},
          {"modality", step.modality()},
          {"start_date", step.start_date()},
          {"start_time", step.start_time()},
          {"performing_physician_name", step.performing_physician_name()}};
}

absl::Status Worklist(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  v1::ListScheduledStepsRequest request;
  request.set_accession_number(options.accession);
  request.set_patient_id(options.patient_id);
  request.set_station_ae_title(options.station);
  request.set_date(options.date);
  request.set_max_results(options.limit);
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::ListScheduledStepsResponse found,
                       client::JobClient(channel).ListScheduledSteps(request));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::vector<TableRow> rows = {
      {"DATE", "TIME", "ACCESSION", "PATIENT ID", "PATIENT", "STATION", "MODALITY", "PROCEDURE"}};
  for (const v1::ScheduledStep& step : found.step()) {
    all.push_back(StepToJson(step));
    const std::string& described = step.scheduled_step_description();
    rows.push_back({step.start_date(), step.start_time(), step.patient_study().accession_number(),
                    step.patient_study().patient_id(), step.patient_study().patient_name(),
                    step.station_ae_title(), step.modality(),
                    described.empty() ? step.requested_procedure_description() : described});
  }
  ISO_RETURN_IF_ERROR(options.json.Report(FormatTable(rows), all));
  if (found.truncated()) {
    std::fprintf(stderr, "isocenter: there are more than %d; --limit shows more\n", options.limit);
  }
  return absl::OkStatus();
}

}  // namespace

void AddWorklistCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand(
      "worklist", "List scheduled procedures, as the server's information system has them");
  command.Footer(
      "Examples:\n  isocenter worklist --date 20260131\n  isocenter worklist --accession A1234 "
      "--json");
  command.Add("--accession", o.accession, "only this accession number");
  command.Add("--patient-id", o.patient_id, "only this patient");
  command.Add("--station", o.station, "only what is scheduled for this AE title");
  command.Add("--date", o.date, "YYYYMMDD, or a range YYYYMMDD-YYYYMMDD");
  command.Add("--limit", o.limit, "at most this many").ShowDefault().Range(1, 1000);
  o.json.AddFlag(command);
  AddServerFlags(command, o.server);
  command.Does([options] { return Worklist(*options); });
}

}  // namespace isocenter::cli
