// isocenter refine: a completed job's frames once more, iteratively or in a second pass.
#include <cstdio>
#include <memory>
#include <optional>
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
#include "client/flags/exit_code.h"
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
  std::optional<double> phase, phase_width;
  int gates = 0;  // 0: not of the whole cycle
  bool metal = false, bone = false, scatter = false, cone_beam = false, motion = false;
  bool self_calibrate = false, complete_rows = false;
  std::string reference;  // id of a job
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
  std::string done = job.has_second_pass()
                         ? SecondPassText(job.second_pass())
                         : absl::StrCat(job.progress().iterations_done(), " of ",
                                        job.progress().iterations_total(), " iterations");
  if (job.has_phase()) {
    done = absl::StrCat(PhaseText(job.phase()),
                        job.progress().iterations_total() > 0 ? absl::StrCat(", ", done) : "");
  }
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

/// The job when it has completed.
absl::StatusOr<v1::Job> Await(const client::JobClient& jobs, const std::string& id,
                              const Options& options) {
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
  if (job.state() == v1::JOB_STATE_COMPLETED) {
    if (!options.poses.empty()) ISO_RETURN_IF_ERROR(WritePoses(job, options.poses));
    return job;
  }
  ISO_RETURN_IF_ERROR(options.json.Report("", ToJson(job)));
  return flags::JobFailed(
      CodeOf(job),
      absl::StrCat("job ", id, " is ", StateName(job.state()), ": ", job.error_message()), id);
}

absl::Status Follow(const client::JobClient& jobs, const std::string& id, const Options& options) {
  ISO_ASSIGN_OR_RETURN(const v1::Job job, Await(jobs, id, options));
  return options.json.Report(DoneText(job), ToJson(job));
}

/// The first flag that asks for a second pass; empty: none.
std::string SecondPassFlag(const Options& options) {
  if (options.metal) return "--metal";
  if (options.bone) return "--bone";
  if (options.scatter) return "--scatter";
  if (options.cone_beam) return "--cone-beam";
  if (options.motion) return "--motion";
  if (options.self_calibrate) return "--self-calibrate";
  return options.complete_rows ? "--complete-rows" : "";
}

/// What begins with the frames as they came is asked for alone.
absl::Status CheckMotionFlags(const Options& options) {
  const std::string first = SecondPassFlag(options);
  const std::string last = options.complete_rows    ? "--complete-rows"
                           : options.self_calibrate ? "--self-calibrate"
                           : options.motion         ? "--motion"
                                                    : first;
  if (first != last) {
    return flags::WrongUsage(
        absl::StrCat(first, " with ", last, "; legal is one of them, both begin with the frames"));
  }
  if (!options.reference.empty() && !options.self_calibrate) {
    return flags::WrongUsage("--reference without --self-calibrate, which holds it beside frames");
  }
  if (!options.reference.empty() && options.reference == options.job_id) {
    return flags::WrongUsage(absl::StrCat("--reference is ", options.reference,
                                          ", whose frames are refined; legal is an earlier job of "
                                          "the same patient"));
  }
  if (options.poses.empty()) return absl::OkStatus();
  if (!options.motion) return flags::WrongUsage("--poses without --motion, which finds them");
  return formats::CheckFileDestination(options.PosesDestination());
}

bool OfPhase(const Options& options) { return options.phase || options.gates > 0; }

absl::Status CheckFlags(const Options& options) {
  const std::string second_pass = SecondPassFlag(options);
  if (options.phase && options.gates > 0) {
    return flags::WrongUsage("--phase with --gates; legal is one of them");
  }
  if (options.phase_width && !OfPhase(options)) {
    return flags::WrongUsage("--phase-width needs --phase or --gates");
  }
  if (OfPhase(options) && !second_pass.empty()) {
    return flags::WrongUsage(absl::StrCat(options.phase ? "--phase" : "--gates", " with ",
                                          second_pass, "; legal is one of them"));
  }
  if (options.gates > 0 && !options.curves.empty()) {
    return flags::WrongUsage("--curve with --gates; legal is --phase, a job at a time");
  }
  if (second_pass.empty() && options.protocol.empty() && !OfPhase(options)) {
    return flags::WrongUsage(
        "--protocol is not given; legal without it are --metal, --bone, --scatter, --cone-beam or "
        "several, --motion, --self-calibrate, --complete-rows, --phase or --gates; `isocenter "
        "protocols` lists protocols");
  }
  if (!second_pass.empty() && !options.curves.empty()) {
    return flags::WrongUsage(
        absl::StrCat("--curve with ", second_pass, "; a second pass has no iterations"));
  }
  return CheckMotionFlags(options);
}

v1::RefineJobRequest RequestOf(const Options& options) {
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
    request.mutable_second_pass()->set_self_calibrate(options.self_calibrate);
    request.mutable_second_pass()->set_complete_rows(options.complete_rows);
    request.mutable_second_pass()->set_reference_job_id(options.reference);
  }
  if (OfPhase(options)) {
    request.mutable_phase()->set_phase(options.phase.value_or(0));
    request.mutable_phase()->set_width(options.phase_width.value_or(0));
    request.mutable_phase()->set_of_phases(options.gates);
  }
  return request;
}

/// The service's answer, which is of the phase and the reference that were asked for. Errors: those
/// of JobClient::Refine; FAILED_PRECONDITION (a service of before there were phases, or
/// references). A service of before there was a pass refuses it as one for nothing.
absl::StatusOr<v1::Job> Ask(const client::JobClient& jobs, const v1::RefineJobRequest& request) {
  ISO_ASSIGN_OR_RETURN(v1::Job job, jobs.Refine(request));
  const auto lacks = [&](absl::string_view what, absl::string_view instead) {
    return absl::FailedPreconditionError(
        absl::StrCat("the service knows no ", what, ", and job ", job.job_id(), " is of ", instead,
                     "; legal is a service of this version (`isocenter cancel ", job.job_id(),
                     "` ends the job)"));
  };
  if (request.has_phase() && !job.has_phase()) return lacks("phases", "all frames");
  if (job.second_pass().reference_job_id() != request.second_pass().reference_job_id()) {
    return lacks("references", "frames alone");
  }
  return job;
}

/// A job for each phase of the cycle. The first request is refused where any of them would be.
absl::Status RefineGates(const client::JobClient& jobs, const Options& options) {
  v1::RefineJobRequest request = RequestOf(options);
  std::vector<v1::Job> made;
  std::string text;
  for (int gate = 0; gate < options.gates; ++gate) {
    request.mutable_phase()->set_phase(static_cast<double>(gate) / options.gates);
    if (!options.request_id.empty()) {
      request.set_request_id(absl::StrCat(options.request_id, "-", gate));
    }
    const absl::StatusOr<v1::Job> job = Ask(jobs, request);
    if (!job.ok()) {
      std::fputs(text.c_str(), stderr);
      return job.status();
    }
    absl::StrAppendFormat(&text, "job %s  phase %g\n", job->job_id(), job->phase().phase());
    made.push_back(*job);
  }
  if (options.wait) {
    std::fputs(text.c_str(), options.json.progress());
    std::fflush(options.json.progress());
    text.clear();
    for (v1::Job& job : made) {
      ISO_ASSIGN_OR_RETURN(job, Await(jobs, job.job_id(), options));
      text += DoneText(job);
    }
  }
  nlohmann::ordered_json document{{"jobs", nlohmann::ordered_json::array()}};
  for (const v1::Job& job : made) document["jobs"].push_back(ToJson(job));
  return options.json.Report(text, document);
}

absl::Status Refine(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckFlags(options));
  for (const std::string& curve : options.curves) ISO_RETURN_IF_ERROR(CheckConvergenceFile(curve));
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  const client::JobClient jobs(channel);
  if (options.gates > 0) return RefineGates(jobs, options);
  ISO_ASSIGN_OR_RETURN(const v1::Job job, Ask(jobs, RequestOf(options)));
  const std::string accepted = absl::StrCat("job ", job.job_id(), "\n");
  if (!options.waits()) return options.json.Report(accepted, ToJson(job));
  std::fputs(accepted.c_str(), options.json.progress());
  std::fflush(options.json.progress());
  return Follow(jobs, job.job_id(), options);
}

void AddSecondPassFlags(flags::Command command, Options& options) {
  command.AddSwitch("--metal", options.metal,
                    "reconstruct again with metal interpolated in the projections");
  command.AddSwitch("--bone", options.bone,
                    "reconstruct again without the beam hardening of bone; needs the bone table of "
                    "the calibration that the job was acquired with");
  command.AddSwitch("--scatter", options.scatter,
                    "reconstruct again without scatter, computed from a coarse volume; needs the "
                    "scatter model of the calibration that the job was acquired with");
  command.AddSwitch("--cone-beam", options.cone_beam,
                    "take the cone-beam artefact of bone and air off the volume");
  command.AddSwitch(
      "--motion", options.motion,
      "look for the rigid motion of the object in the frames and reconstruct it as it "
      "lay on average; beside none of the others (docs/motion.md)");
  command.AddSwitch("--self-calibrate", options.self_calibrate,
                    "look in the frames for where the detector was and reconstruct with matrices "
                    "that are corrected; beside none of the others (docs/self-calibration.md)");
  command.AddSwitch("--complete-rows", options.complete_rows,
                    "let rows that the detector cuts go on as a model of what is beyond them, and "
                    "reconstruct again: of trunks wider than the detector; beside none of the "
                    "others (docs/truncation.md)");
  command
      .Add("--reference", options.reference,
           "with --self-calibrate: a completed job of another acquisition of the same patient, "
           "whose stored volume is held beside the frames")
      .Type("JOB");
}

void AddPhaseFlags(flags::Command command, Options& options) {
  command
      .Add("--phase", options.phase,
           "a volume of the frames that were taken around this phase of a moving organ's cycle, 0 "
           "to less than 1; the job's frames must tell theirs (docs/moving-organs.md)")
      .Range(0.0, 0.999999);
  command
      .Add("--phase-width", options.phase_width,
           "part of the cycle whose frames count half and more (default 0.2; with --gates: their "
           "distance)")
      .Range(0.000001, 1.0);
  command
      .Add("--gates", options.gates,
           "so many jobs, one for each phase at equal distances from 0, each with a series of its "
           "own")
      .Range(2, 50);
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
      "  isocenter refine JOB --self-calibrate --wait\n"
      "  isocenter refine JOB --self-calibrate --reference EARLIER --wait\n"
      "  isocenter refine JOB --complete-rows --wait\n"
      "  isocenter refine JOB --phase 0.75\n"
      "Needs the job's frames, which the server keeps for a while after a job has ended.\n"
      "Exit code 0: accepted, or with --wait completed; 5: refused; 7: failed or cancelled.");
  AddJobArgument(command, options->job_id).Required();
  command
      .Add(
          "--protocol", options->protocol,
          "a protocol with a refinement; `isocenter protocols` lists them (with --metal, "
          "--bone, --scatter, --cone-beam, --motion, --self-calibrate, --complete-rows, --phase or "
          "--gates the one whose filter is used; default: that of the job)")
      .Type("NAME");
  AddSecondPassFlags(command, *options);
  AddPhaseFlags(command, *options);
  command
      .Add("--deadline", options->deadline_seconds,
           "after how long the best volume so far is stored, of which a second pass has none; "
           "0: "
           "what the protocol says")
      .Seconds(0, 604800);
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
