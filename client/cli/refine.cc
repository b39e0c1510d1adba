// isocenter refine: a completed job's frames once more, iteratively or in a second pass.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/overwrite_flag.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/convergence_file.h"
#include "client/cli/output/going_on.h"
#include "client/cli/output/iteration_printer.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/motion_text.h"
#include "client/cli/output/warning_printer.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/motion_curve.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id, protocol, request_id;
  double deadline_seconds = 0;
  bool metal = false, bone = false, scatter = false, cone_beam = false, motion = false;
  bool batch = false;
  bool wait = false;
  std::vector<std::string> curves;
  std::string poses;
  bool overwrite = false;
  JsonOutput json;

  bool waits() const { return wait || !curves.empty() || !poses.empty(); }
  formats::Destination PosesDestination() const {
    return {.flag = "--poses", .path = poses, .endings = {".csv"}, .replaces = overwrite};
  }
};

std::string DoneText(const v1::Job& job) {
  const std::string done = job.has_second_pass()
                               ? SecondPassText(job.second_pass())
                               : absl::StrCat(job.progress().iterations_done(), " of ",
                                              job.progress().iterations_total(), " iterations");
  std::string text =
      absl::StrFormat("%s: %s in %.1f s, series %s\n", job.job_id(), done,
                      job.result().timings().refine_seconds(), job.result().series_instance_uid());
  for (const std::string& finding : job.finding()) absl::StrAppend(&text, finding, "\n");
  return text;
}

/// A motion table with the pose of each frame; of an object at rest, those at rest.
absl::Status WritePoses(const v1::Job& job, const std::string& path) {
  std::vector<RigidPose> poses = PosesOf(job.motion());
  if (poses.empty()) poses.resize(job.progress().frames_total());
  return formats::WriteText(path, MotionText(poses));
}

absl::Status Follow(const client::JobClient& jobs, const std::string& id, const Options& options) {
  WarningPrinter warnings;
  IterationPrinter iterations(options.json.progress());
  const absl::StatusOr<v1::Job> followed = jobs.Follow(
      id,
      [&](const v1::Job& now) {
        SayThatItGoesOn(now);
        for (const v1::JobWarning& warning : now.warning()) warnings.Print(warning);
        iterations.Print(now);
        return true;
      },
      [&](const absl::Status& why) { warnings.Print(LostText(why)); });
  if (!followed.ok()) return WithWayBack(followed.status(), id);
  const v1::Job& job = *followed;
  // Also of one that was cancelled: what it came to may be the reason.
  for (const std::string& curve : options.curves) {
    if (job.iteration_size() > 0) ISO_RETURN_IF_ERROR(WriteConvergence(job, curve));
  }
  const bool completed = job.state() == v1::JOB_STATE_COMPLETED;
  if (completed && !options.poses.empty()) ISO_RETURN_IF_ERROR(WritePoses(job, options.poses));
  ISO_RETURN_IF_ERROR(options.json.Report(completed ? DoneText(job) : "", ToJson(job)));
  if (completed) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("job ", id, " is ", StateName(job.state()), ": ", job.error_message()));
}

/// The first flag that asks for a second pass; empty: none.
std::string SecondPassFlag(const Options& options) {
  if (options.metal) return "--metal";
  if (options.bone) return "--bone";
  if (options.scatter) return "--scatter";
  if (options.cone_beam) return "--cone-beam";
  return options.motion ? "--motion" : "";
}

/// Motion is looked for alone.
absl::Status CheckMotionFlags(const Options& options) {
  const std::string first = SecondPassFlag(options);
  if (options.motion && first != "--motion") {
    return flags::WrongUsage(
        absl::StrCat(first, " with --motion; legal is one of them, both begin with the frames"));
  }
  if (options.poses.empty()) return absl::OkStatus();
  if (!options.motion) return flags::WrongUsage("--poses without --motion, which finds them");
  return formats::CheckFileDestination(options.PosesDestination());
}

absl::Status CheckFlags(const Options& options) {
  const std::string second_pass = SecondPassFlag(options);
  if (second_pass.empty() && options.protocol.empty()) {
    return flags::WrongUsage(
        "--protocol is not given; legal without it are --metal, --bone, --scatter, --cone-beam or "
        "several, or --motion; `isocenter protocols` lists protocols");
  }
  if (!second_pass.empty() && !options.curves.empty()) {
    return flags::WrongUsage(
        absl::StrCat("--curve with ", second_pass, "; a second pass has no iterations"));
  }
  return CheckMotionFlags(options);
}

absl::Status Refine(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckFlags(options));
  for (const std::string& curve : options.curves) ISO_RETURN_IF_ERROR(CheckConvergenceFile(curve));
  ISO_RETURN_IF_ERROR(options.json.Check());
  v1::RefineJobRequest request;
  request.set_job_id(options.job_id);
  request.set_protocol(options.protocol);
  request.set_deadline_seconds(options.deadline_seconds);
  request.set_job_class(options.batch ? v1::JOB_CLASS_BATCH : v1::JOB_CLASS_INTERACTIVE);
  request.set_request_id(options.request_id);
  if (!SecondPassFlag(options).empty()) {
    request.mutable_second_pass()->set_metal(options.metal);
    request.mutable_second_pass()->set_bone(options.bone);
    request.mutable_second_pass()->set_scatter(options.scatter);
    request.mutable_second_pass()->set_cone_beam(options.cone_beam);
    request.mutable_second_pass()->set_motion(options.motion);
  }
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  const client::JobClient jobs(channel);
  ISO_ASSIGN_OR_RETURN(const v1::Job job, jobs.Refine(request));
  const std::string accepted = absl::StrCat("job ", job.job_id(), "\n");
  if (!options.waits()) return options.json.Report(accepted, ToJson(job));
  std::fputs(accepted.c_str(), options.json.progress());
  std::fflush(options.json.progress());
  return Follow(jobs, job.job_id(), options);
}

}  // namespace

void AddRefineCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand(
      "refine", "Refine a completed job iteratively or in a second pass, as a job of its own");
  command.Footer(
      "Examples:\n"
      "  isocenter refine JOB --protocol fdk_then_ossart --wait\n"
      "  isocenter refine JOB --protocol fdk_then_pwls_tv --deadline 60 --curve curve.png\n"
      "  isocenter refine JOB --metal --bone\n"
      "  isocenter refine JOB --motion --poses found.csv\n"
      "Needs the job's frames, which the server keeps for a while after a job has ended.\n"
      "Exit code 0: accepted, or with --wait completed; 1: refused, failed or cancelled.");
  AddJobArgument(command, options->job_id).Required();
  command
      .Add("--protocol", options->protocol,
           "a protocol with a refinement; `isocenter protocols` lists them (with --metal, "
           "--bone, --scatter, --cone-beam or --motion the one whose filter is used; default: that "
           "of the job)")
      .Type("NAME");
  command.AddSwitch("--metal", options->metal,
                    "reconstruct again with metal interpolated in the projections");
  command.AddSwitch("--bone", options->bone,
                    "reconstruct again without the beam hardening of bone; needs the bone table of "
                    "the calibration that the job was acquired with");
  command.AddSwitch("--scatter", options->scatter,
                    "reconstruct again without scatter, computed from a coarse volume; needs the "
                    "scatter model of the calibration that the job was acquired with");
  command.AddSwitch("--cone-beam", options->cone_beam,
                    "take the cone-beam artefact of bone and air off the volume");
  command.AddSwitch(
      "--motion", options->motion,
      "look for the rigid motion of the object in the frames and reconstruct it as it "
      "lay on average; beside none of the others (docs/motion.md)");
  command
      .Add("--deadline", options->deadline_seconds,
           "seconds after which the best volume so far is stored, of which a second pass has none; "
           "0: "
           "what the protocol says")
      .Range(0.0, 604800.0);
  command
      .Add("--request_id", options->request_id,
           "repeating a request with the same id makes no second job")
      .Type("ID");
  command.AddSwitch("--batch", options->batch, "nobody waits for it: after all other jobs");
  command.AddSwitch("--wait", options->wait, "print each iteration and wait for the end");
  command
      .Add("--curve", options->curves,
           "residual (what the volume does not explain of the frames) and objective of each "
           "iteration as .csv or .png; may be repeated; waits")
      .Type("FILE");
  command
      .Add("--poses", options->poses,
           "write the pose of each frame that --motion found, as `simulate --motion` reads them; "
           "waits")
      .Type("FILE.csv");
  AddOverwriteFlag(command, options->overwrite);
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Refine(*options); });
}

}  // namespace isocenter::cli
