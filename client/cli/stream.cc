// isocenter stream: an acquisition on disk plays the scanner.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/acquisition_stream.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/options/acquisition_flags.h"
#include "client/cli/options/frame_list.h"
#include "client/cli/options/identity_checks.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/preview_file.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/state_printer.h"
#include "client/cli/output/table.h"
#include "client/cli/output/warning_printer.h"
#include "client/cli/output/warnings.h"
#include "client/cluster.h"
#include "client/flags/exit_code.h"
#include "client/flags/wrong_usage.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {
namespace {

constexpr char kNewest[] = "newest";

struct Options {
  client::ServerAddress server;
  AcquisitionFlags acquisition;
  std::string protocol;
  double fps = 0;  // 0: as fast as the server takes them
  JsonOutput json;
  std::string job_class;
  double deadline_seconds = 0;
  std::string pair, role;
  std::string phase_cycle;
  std::string resume;
  std::string skip_frames;
  std::string preview;
  std::string trace_parent;
  double failover_seconds = 2;
  std::string geometry;  // kNewest or the name of a set; empty: the input's matrices
  v1::PatientStudy study;
  v1::AcquisitionHeader system;  // only what is not empty counts
};

/// What a calibration has to fit is the acquisition's own: of another room's set nobody would know.
void WarnOfOverrides(const v1::AcquisitionHeader& flags, const v1::AcquisitionHeader& told) {
  std::vector<std::string> warnings;
  const auto warn = [&warnings]<class T>(const char* flag, const T& wanted, const T& own) {
    if (wanted == T{} || own == T{} || wanted == own) return;
    warnings.push_back(absl::StrCat(flag, " is '", wanted, "', and the acquisition says '", own,
                                    "'; what the flag says is sent"));
  };
  warn("--station", flags.station_name(), told.station_name());
  warn("--detector-mode", flags.detector_mode(), told.detector_mode());
  warn("--tube-voltage", flags.tube_voltage_kv(), told.tube_voltage_kv());
  PrintWarnings(warnings);
}

absl::Status ApplyOverrides(const Options& options, v1::AcquisitionHeader& header) {
  WarnOfOverrides(options.system, header);
  if (!options.protocol.empty()) header.set_protocol(options.protocol);
  header.MergeFrom(options.system);
  header.mutable_patient_study()->MergeFrom(options.study);  // proto3: only what is not empty
  PrintWarnings(NamesWithCommas(header));
  if (options.job_class == "live") header.set_job_class(v1::JOB_CLASS_LIVE);
  if (options.job_class == "interactive") header.set_job_class(v1::JOB_CLASS_INTERACTIVE);
  if (options.job_class == "batch") header.set_job_class(v1::JOB_CLASS_BATCH);
  if (options.deadline_seconds > 0) header.set_deadline_seconds(options.deadline_seconds);
  if (options.fps > 0) header.set_frame_rate_hz(options.fps);
  if (options.phase_cycle == "cardiac") header.set_phase_cycle(v1::PHASE_CYCLE_CARDIAC);
  if (options.phase_cycle == "respiratory") header.set_phase_cycle(v1::PHASE_CYCLE_RESPIRATORY);
  ISO_RETURN_IF_ERROR(CheckManufacturer(header.equipment()));
  if (!options.geometry.empty()) {
    header.clear_trajectory();
    if (options.geometry != kNewest) header.set_geometry(options.geometry);
  }
  if (!options.pair.empty()) {
    header.mutable_pair()->set_pair_id(options.pair);
    header.mutable_pair()->set_role(options.role == "mask" ? v1::PAIR_ROLE_MASK
                                                           : v1::PAIR_ROLE_FILL);
  }
  ISO_ASSIGN_OR_RETURN(const std::optional<VolumeGrid> grid, ChosenGrid(options.acquisition));
  if (grid) *header.mutable_grid() = wire::ToProto(*grid);
  return absl::OkStatus();
}

/// What this side measured; times of SteadyNow.
struct Sent {
  int64_t frames = 0;  // 0: the service had them all, of a job that was taken up again
  absl::Time begin, last_frame, result;
};

/// A frame that was read, with what the source tells of it.
absl::Status SendFrame(int64_t index, std::span<const std::byte> pixels,
                       const formats::FrameSource& source, client::AcquisitionStream& stream) {
  return stream.SendFrame(static_cast<uint32_t>(index), pixels, std::nullopt, source.dose(index),
                          source.phase(index));
}

/// Of a job that was taken up again, the last frame that the service has: it compares the pixels,
/// and refuses those of another scan under the same header.
absl::Status SendProof(int64_t first, const std::set<uint32_t>& skipped,
                       formats::FrameSource& source, client::AcquisitionStream& stream) {
  int64_t last = first - 1;
  while (last >= 0 && skipped.count(static_cast<uint32_t>(last)) != 0) --last;
  if (last < 0 || first == source.header().frame_count()) return absl::OkStatus();
  std::vector<std::byte> pixels(source.frame_bytes());
  ISO_RETURN_IF_ERROR(source.Read(last, pixels));
  return SendFrame(last, pixels, source, stream);
}

absl::StatusOr<Sent> SendFrames(const Options& options, const std::set<uint32_t>& skipped,
                                formats::FrameSource& source, client::AcquisitionStream& stream,
                                const Interrupt& interrupt) {
  const int64_t frames = source.header().frame_count();
  const int64_t first = stream.accepted().next_frame_index();
  ISO_RETURN_IF_ERROR(SendProof(first, skipped, source, stream));
  std::vector<std::byte> pixels(source.frame_bytes());
  ProgressBar bar("frames", "frames", frames);
  const absl::Time begin = SteadyNow();
  Sent sent{.begin = begin, .last_frame = begin};
  for (int64_t i = first; i < frames; ++i) {
    if (skipped.count(static_cast<uint32_t>(i)) != 0) continue;
    ISO_RETURN_IF_ERROR(source.Read(i, pixels));
    if (options.fps > 0) {
      // Deadlines from the start, so that late frames do not delay all that follow.
      const absl::Time due =
          sent.begin + absl::Seconds(static_cast<double>(i - first) / options.fps);
      interrupt.WaitFor(due - SteadyNow());
    }
    if (interrupt.happened()) return flags::Interrupted("interrupted; the job was cancelled");
    ISO_RETURN_IF_ERROR(SendFrame(i, pixels, source, stream));
    sent.last_frame = SteadyNow();
    ++sent.frames;
    bar.Update(i + 1);
  }
  return sent;
}

/// What came of a stream.
struct Streamed {
  v1::JobResult result;
  std::string node;        // that made the volume
  std::string refined_by;  // the job that refines it; empty: none
  v1::Job job;             // as the server keeps it; empty where it cannot be asked any more
  Sent sent;
  int64_t reconnects = 0;
};

std::string Summary(const Streamed& streamed) {
  const v1::JobResult& result = streamed.result;
  const Sent& sent = streamed.sent;
  const v1::StageTimings& t = result.timings();
  const double sending = absl::ToDoubleSeconds(sent.last_frame - sent.begin);
  std::vector<TableRow> rows = {
      {"job", result.job_id()},
      {"node", streamed.node},
      {"frames", sent.frames == 0
                     ? "none sent: the service had all of them"
                     : absl::StrFormat("%d in %.2f s (%.1f per second)", sent.frames, sending,
                                       sending > 0 ? (sent.frames - 1) / sending : 0.0)},
      {"volume", GridText(result.grid())},
  };
  const v1::Job& job = streamed.job;
  if (job.has_calibration()) rows.push_back({"calibration", SetText(job.calibration())});
  if (job.has_geometry()) rows.push_back({"geometry", SetText(job.geometry())});
  const std::vector<TableRow> figures = {
      {"after last frame",
       absl::StrFormat("%.3f s to the volume, %.3f s to the archive",
                       result.seconds_after_last_frame(), result.seconds_to_stored())},
      {"speed", absl::StrFormat("%.2f GUPS (giga voxel updates per second) of back-projection, "
                                "%.2f of all computing, backend %s",
                                result.kernel_gups(), result.whole_gups(), result.backend())},
      {"stages",
       absl::StrFormat("upload %.3f s, preprocess %.3f s, filter %.3f s, back-project %.3f s, "
                       "hounsfield %.3f s, download %.3f s, export %.3f s",
                       t.upload_seconds(), t.preprocess_seconds(), t.filter_seconds(),
                       t.backproject_seconds(), t.hounsfield_seconds(), t.download_seconds(),
                       t.export_seconds())},
      {"study", result.study_instance_uid()},
      {"series",
       absl::StrFormat("%s (%d instances)", result.series_instance_uid(), result.instance_count())},
  };
  rows.insert(rows.end(), figures.begin(), figures.end());
  if (streamed.reconnects > 0) {
    rows.push_back({"reconnects", absl::StrCat(streamed.reconnects)});
  }
  if (!streamed.refined_by.empty()) {
    rows.push_back({"refinement", absl::StrCat(streamed.refined_by, " (isocenter watch ",
                                               streamed.refined_by, " follows it)")});
  }
  return FormatTable(rows);
}

nlohmann::ordered_json ToJson(const Streamed& streamed) {
  nlohmann::ordered_json json = cli::ToJson(streamed.result);
  json["node"] = streamed.node;
  json["frames"] = streamed.sent.frames;
  json["reconnects"] = streamed.reconnects;
  json["stream_seconds"] = absl::ToDoubleSeconds(streamed.sent.last_frame - streamed.sent.begin);
  json["client_seconds_after_last_frame"] =
      absl::ToDoubleSeconds(streamed.sent.result - streamed.sent.last_frame);
  if (!streamed.refined_by.empty()) json["refined_by_job_id"] = streamed.refined_by;
  if (streamed.job.has_calibration()) json["calibration"] = cli::ToJson(streamed.job.calibration());
  if (streamed.job.has_geometry()) json["geometry"] = cli::ToJson(streamed.job.geometry());
  return json;
}

/// The job that refines this one because its protocol says so. Empty: none, or the server cannot be
/// asked any more, which spoils nothing.
std::string RefinementOf(const absl::StatusOr<client::ServiceChannel>& channel,
                         const std::string& protocol, const std::string& job_id) {
  if (!channel.ok()) return "";
  const absl::StatusOr<v1::ListProtocolsResponse> all = client::JobClient(*channel).ListProtocols();
  if (!all.ok()) return "";
  const std::string& name = protocol.empty() ? all->default_protocol() : protocol;
  for (const v1::ReconstructionProtocol& known : all->protocol()) {
    if (known.name() == name && known.has_refinement()) return absl::StrCat(job_id, "-ref");
  }
  return "";
}

/// What the server keeps of the job; empty where it cannot be asked any more, which spoils nothing.
v1::Job JobOf(const absl::StatusOr<client::ServiceChannel>& channel, const std::string& job_id) {
  if (!channel.ok()) return {};
  return client::JobClient(*channel).Get(job_id).value_or(v1::Job());
}

absl::Status CheckTogether(const Options& options) {
  if (options.pair.empty() != options.role.empty()) {
    return flags::WrongUsage("--pair and --role must be given together");
  }
  ISO_RETURN_IF_ERROR(CheckIdentityFlags(options.study, options.system));
  ISO_RETURN_IF_ERROR(ChosenGrid(options.acquisition).status());
  if (options.trace_parent.empty()) return absl::OkStatus();
  const absl::Status legal = client::CheckTraceParent(options.trace_parent);
  return legal.ok() ? legal : flags::WrongUsage(legal.message());
}

/// A result that cannot be written would be known after the exposure.
absl::Status CheckOutputs(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckPreviewFile(options.preview));
  return options.json.Check({options.acquisition.input, options.acquisition.projections});
}

/// Who is told what the server says meanwhile. They outlive the stream.
struct Listeners {
  explicit Listeners(const Options& options)
      : preview(options.preview), states(options.json.progress()) {}
  WarningPrinter warnings;
  PreviewFile preview;
  StatePrinter states;
  std::atomic<bool> named = false;  // the job's id was printed, which is the first line
};

/// As programs pass it on to those that they start; one that is none counts for nothing.
std::string TraceParent(const Options& options) {
  if (!options.trace_parent.empty()) return options.trace_parent;
  const char* told = std::getenv("TRACEPARENT");
  return told != nullptr && client::CheckTraceParent(told).ok() ? told : "";
}

absl::StatusOr<std::unique_ptr<client::AcquisitionStream>> OpenStream(
    const Options& options, const client::ServiceChannel& channel,
    const v1::AcquisitionHeader& header, Listeners& told, Interrupt& interrupt) {
  std::stop_source stop;
  interrupt.SetHandler([&stop] { stop.request_stop(); });
  const absl::Cleanup no_handler = [&interrupt] { interrupt.SetHandler(nullptr); };
  client::AcquisitionStreamOptions stream;
  stream.stop = stop.get_token();
  stream.failover_after = absl::Seconds(options.failover_seconds);
  stream.trace_parent = TraceParent(options);
  stream.on_progress = [&told](const v1::JobProgress& p) {
    if (told.named) told.states.Show(p);
  };
  stream.on_warning = [&told](const v1::JobWarning& w) { told.warnings.Print(w); };
  stream.on_preview = [&told](const v1::Preview& p) { told.preview.Show(p); };
  stream.on_interrupted = [&told, &interrupt](const absl::Status& why) {
    if (interrupt.happened()) return;  // who cancels the job knows why its stream ends
    // The next call says what has become of a job that somebody else has cancelled.
    if (absl::IsCancelled(why)) return;
    told.warnings.Print(absl::StrCat("the stream was ended and is tried again: ", why.message()));
  };
  stream.on_moved = [&told](const std::string& node) {
    told.warnings.Print(absl::StrCat("the scan goes on at node ", node, ", which gets all frames"));
  };
  std::error_code none;
  stream.kept_frames_folder = std::filesystem::temp_directory_path(none);
  if (options.resume.empty()) {
    return client::AcquisitionStream::Open(channel, header, std::move(stream));
  }
  return client::AcquisitionStream::Resume(channel, header, options.resume, std::move(stream));
}

/// To the node that has the job: a proxy may still think that one which was left is there.
absl::StatusOr<client::ServiceChannel> OpenBeside(client::ServerAddress server,
                                                  const client::AcquisitionStream& stream) {
  server.node = stream.node();
  return client::ServiceChannel::Open(server);
}

/// Who has interrupted does not wait longer for a server that is out of reach.
absl::Status CancelJob(const client::ServerAddress& server,
                       const client::AcquisitionStream& stream) {
  constexpr absl::Duration kToBeTold = absl::Seconds(2);
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel direct, OpenBeside(server, stream));
  return client::JobClient(direct)
      .Cancel(stream.accepted().job_id(), v1::CANCEL_REASON_UNSPECIFIED, kToBeTold)
      .status();
}

/// Which made the volume.
std::string NodeOf(const client::AcquisitionStream& stream) {
  return stream.node().empty() ? stream.accepted().node() : stream.node();
}

/// Why the stream ended, with what has become of its job: `job` as the server has it, or why that
/// is not known.
absl::Status WithJob(const absl::Status& why, const std::string& job_id,
                     const absl::StatusOr<v1::Job>& job) {
  const bool failed = job.ok() ? client::HasEnded(*job) : !absl::IsUnavailable(job.status());
  if (failed) return flags::JobFailed(why.code(), why.message(), job_id);
  absl::string_view what_now = "; the job can be taken up again with --resume ";
  if (absl::IsAborted(why)) what_now = "; the job goes on with that one: isocenter watch ";
  absl::Status told(why.code(), absl::StrCat(why.message(), what_now, job_id));
  why.ForEachPayload(
      [&told](absl::string_view mark, const absl::Cord& none) { told.SetPayload(mark, none); });
  return flags::OfJob(std::move(told), job_id);
}

absl::Status Report(const Options& options, const Streamed& streamed, Listeners& told) {
  for (const std::string& warning : streamed.result.warning()) told.warnings.Print(warning);
  // A preview that could not be written does not spoil the job.
  if (const absl::Status s = told.preview.Close(); !s.ok()) {
    told.warnings.Print(std::string(s.message()));
  }
  told.warnings.Finish();
  return options.json.Report(Summary(streamed), ToJson(streamed));
}

absl::Status Stream(const Options& options) {
  Interrupt interrupt;
  ISO_RETURN_IF_ERROR(CheckTogether(options));
  ISO_RETURN_IF_ERROR(CheckOutputs(options));
  ISO_RETURN_IF_ERROR(CheckServer(options.server));
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<formats::FrameSource> source,
                       OpenAcquisition(options.acquisition));
  if (source->phase(0)) {
    std::fprintf(
        stderr, "note: the frames tell phases, which are not sent: the volume is of all of them\n");
  }
  ISO_ASSIGN_OR_RETURN(const std::set<uint32_t> skipped,
                       ParseFrameList(options.skip_frames, source->header().frame_count()));
  v1::AcquisitionHeader header = source->header();
  ISO_RETURN_IF_ERROR(ApplyOverrides(options, header));
  ISO_ASSIGN_OR_RETURN(const client::ServerAddress server, client::AnyAddress(options.server));
  ISO_RETURN_IF_ERROR(client::CheckNode(server));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, client::ServiceChannel::Open(server));
  Listeners told(options);
  told.states.YieldTerminal(true);  // to the bar
  absl::StatusOr<std::unique_ptr<client::AcquisitionStream>> opened =
      OpenStream(options, channel, header, told, interrupt);
  if (!opened.ok()) {
    return interrupt.happened() ? flags::Interrupted(opened.status().message()) : opened.status();
  }
  const std::unique_ptr<client::AcquisitionStream> stream = *std::move(opened);
  std::fprintf(options.json.progress(), "job %s\n", stream->accepted().job_id().c_str());
  std::fflush(options.json.progress());
  told.named = true;
  // Breaking the stream off might be taken for a lost connection, so the job is cancelled by name.
  absl::Status cancelled;
  interrupt.SetHandler([&] {
    cancelled = CancelJob(server, *stream);
    stream->Cancel();
  });
  const absl::Cleanup no_handler = [&] { interrupt.SetHandler(nullptr); };
  const auto explained = [&](const absl::Status& status) {
    const std::string& job_id = stream->accepted().job_id();
    if (interrupt.happened()) {
      interrupt.SetHandler(nullptr);  // waits until the server has been told
      return flags::OfJob(flags::Interrupted(absl::StrCat(
                              "interrupted; job ", job_id,
                              cancelled.ok() ? " was cancelled" : " could not be cancelled: ",
                              cancelled.message())),
                          job_id);
    }
    // What is out of reach is not asked.
    const absl::StatusOr<client::ServiceChannel> beside =
        absl::IsUnavailable(status) ? status : OpenBeside(server, *stream);
    return WithJob(status, job_id,
                   beside.ok() ? client::JobClient(*beside).Get(job_id)
                               : absl::StatusOr<v1::Job>(beside.status()));
  };

  absl::StatusOr<Sent> sent = SendFrames(options, skipped, *source, *stream, interrupt);
  if (!sent.ok()) return explained(sent.status());
  told.states.YieldTerminal(false);
  const absl::StatusOr<v1::JobResult> result = stream->Finish();
  sent->result = SteadyNow();
  told.states.Clear();
  if (!result.ok()) return explained(result.status());
  const absl::StatusOr<client::ServiceChannel> beside = OpenBeside(server, *stream);
  return Report(options,
                {.result = *result,
                 .node = NodeOf(*stream),
                 .refined_by = RefinementOf(beside, header.protocol(), result->job_id()),
                 .job = JobOf(beside, result->job_id()),
                 .sent = *sent,
                 .reconnects = stream->reconnects()},
                told);
}

}  // namespace

void AddStreamCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command =
      program.Subcommand("stream", "Send an acquisition to the server and wait for its volume");
  command.Footer(
      "Examples:\n"
      "  isocenter stream head --fps 30\n"
      "  isocenter stream geometry.xml --projections projections.mha --grid 256x256x256 --voxel-mm "
      "1\n"
      "  isocenter stream head --server recon1:50051 --ca ca.pem --json result.json\n"
      "  isocenter stream head --resume 20260131T120000-9a08e8f8\n"
      "The job's id is printed as soon as the server has admitted it. JOB-ref is the job that "
      "refines it where the protocol asks for that; it goes on after this command has ended.\n"
      "Ctrl-C cancels the job, with exit code 130.");
  AddAcquisitionFlags(command, o.acquisition);
  command.Add("--protocol", o.protocol, "reconstruction protocol (see `isocenter protocols`)");
  command.Add("--fps", o.fps, "frames per second; 0 sends as fast as the server takes them")
      .ShowDefault()
      .Range(0.0, 10000.0);
  command.Add("--class", o.job_class, "who is served first: live (the default), interactive, batch")
      .OneOf({"live", "interactive", "batch"});
  command
      .Add("--deadline", o.deadline_seconds,
           "how long until the volume is wanted; orders the jobs of one class")
      .Seconds(0, 604800);
  command.Add("--pair", o.pair, "one half of a subtraction: its id, with --role").Type("ID");
  command.Add("--role", o.role, "mask (before the contrast agent) or fill, with --pair")
      .OneOf({"mask", "fill"});
  command
      .Add("--phase-cycle", o.phase_cycle,
           "what the phases are of that the frames tell (default: as the input says, else unknown)")
      .OneOf({"cardiac", "respiratory"});
  command.Add("--resume", o.resume, "go on with this job, which was begun with this input")
      .Type("JOB");
  command
      .Add("--skip-frames", o.skip_frames,
           "frames that are not sent, e.g. 10,20-22: what happens to gaps")
      .Type("LIST");
  command
      .Add("--geometry", o.geometry,
           "leave the matrices to the service: those of the kept set of this name, or of the "
           "newest one that fits (newest)")
      .Type("NAME|newest");
  command
      .Add("--failover-seconds", o.failover_seconds,
           "how long a node may be away before another one gets all frames; 0: they stay")
      .ShowDefault()
      .Seconds(0, 3600);
  command
      .Add("--traceparent", o.trace_parent,
           "W3C trace context that the job's spans belong to, where the node makes traces; else "
           "that of the environment variable TRACEPARENT")
      .Type("TEXT");
  command.Add("--preview", o.preview, "PNG of three planes, replaced as the volume grows")
      .Type("FILE");
  o.json.AddFlag(command);
  AddServerFlags(command, o.server);
  AddPatientFlags(command, o.study);
  AddXraySystemFlags(command, o.system);
  command.Does([options] { return Stream(*options); });
}

}  // namespace isocenter::cli
