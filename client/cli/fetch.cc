// isocenter fetch: a job's result as files.
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/options/deidentify_flags.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/job_facts.h"
#include "client/cli/options/overwrite_flag.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/progress_bar.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "client/formats/staged_directory.h"
#include "client/formats/volume_writer.h"
#include "client/job_client.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  std::filesystem::path out;
  std::string format;  // empty: as the name of `out` says
  bool overwrite = false;
  JsonOutput json;
  DeidentifyFlags deidentify;
};

absl::Status Interrupted() { return flags::Interrupted("interrupted; nothing was written"); }

/// The files appear together, when the last one has come.
class DirectorySink : public client::DicomSink {
 public:
  /// `deidentifier` may be null; else every file is collected in memory and cleaned before it is
  /// written, so that no identity reaches the disk.
  DirectorySink(std::filesystem::path directory, const formats::Deidentifier* deidentifier,
                const Interrupt& interrupt)
      : directory_(std::move(directory)), deidentifier_(deidentifier), interrupt_(interrupt) {}
  absl::Status OnFileCount(int files) override {
    bar_.emplace("download", "files", files);
    ISO_ASSIGN_OR_RETURN(formats::StagedDirectory staged,
                         formats::StagedDirectory::Create(directory_));
    staged_.emplace(std::move(staged));
    return absl::OkStatus();
  }
  absl::Status OnFile(const std::string& name) override {
    ISO_ASSIGN_OR_RETURN(formats::OutputFile file, formats::OutputFile::Create(staged_->Add(name)));
    collected_.clear();
    file_.emplace(std::move(file));
    return absl::OkStatus();
  }
  absl::Status OnData(absl::string_view data) override {
    if (interrupt_.happened()) return Interrupted();
    const auto bytes = std::as_bytes(std::span(data.data(), data.size()));
    if (deidentifier_ == nullptr) return file_->Write(bytes);
    try {
      collected_.insert(collected_.end(), bytes.begin(), bytes.end());
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for an object of more than ",
                       BytesText(static_cast<int64_t>(collected_.size()))));
    }
    return absl::OkStatus();
  }
  absl::Status OnEndOfFile() override {
    if (deidentifier_ != nullptr) {
      ISO_ASSIGN_OR_RETURN(const std::vector<std::byte> cleaned, deidentifier_->Clean(collected_));
      ISO_RETURN_IF_ERROR(file_->Write(cleaned));
    }
    ISO_RETURN_IF_ERROR(file_->Commit());
    file_.reset();
    bar_->Update(++files_);
    return absl::OkStatus();
  }
  absl::Status Finish() {
    bar_.reset();
    return staged_->Commit();
  }
  int64_t files() const { return files_; }

 private:
  std::filesystem::path directory_;
  const formats::Deidentifier* deidentifier_;
  const Interrupt& interrupt_;
  std::optional<formats::StagedDirectory> staged_;
  std::vector<std::byte> collected_;
  std::optional<formats::OutputFile> file_;
  std::optional<ProgressBar> bar_;
  int64_t files_ = 0;
};

class VolumeFileSink : public client::VolumeSink {
 public:
  VolumeFileSink(formats::Destination destination, formats::VolumeFacts facts,
                 const Interrupt& interrupt)
      : destination_(std::move(destination)), facts_(std::move(facts)), interrupt_(interrupt) {}
  absl::Status OnGrid(const VolumeGrid& grid) override {
    grid_ = grid;
    bar_.emplace("download", "voxels", grid.voxels());
    destination_.bytes = static_cast<uint64_t>(grid.voxels()) * sizeof(float);
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(destination_));
    ISO_ASSIGN_OR_RETURN(formats::VolumeWriter writer,
                         formats::VolumeWriter::Create(destination_.path, grid, facts_));
    writer_.emplace(std::move(writer));
    return absl::OkStatus();
  }
  absl::Status OnVoxels(std::span<const float> voxels) override {
    if (interrupt_.happened()) return Interrupted();
    voxels_ += static_cast<int64_t>(voxels.size());
    bar_->Update(voxels_);
    return writer_->Append(voxels);
  }
  absl::Status Finish() {
    bar_.reset();
    return writer_->Finish();
  }
  const VolumeGrid& grid() const { return grid_; }

 private:
  formats::Destination destination_;
  const formats::VolumeFacts facts_;
  const Interrupt& interrupt_;
  VolumeGrid grid_;
  std::optional<formats::VolumeWriter> writer_;
  std::optional<ProgressBar> bar_;
  int64_t voxels_ = 0;
};

/// What the pixels of a result take as DICOM, two bytes of each voxel: as slices, as one object of
/// all frames, or as both.
uint64_t LeastDicomBytes(const v1::JobResult& result) {
  const v1::VolumeGrid& grid = result.grid();
  const uint64_t forms = result.instance_count() > grid.nz() ? 2 : 1;
  return 2 * forms * grid.nx() * grid.ny() * uint64_t{grid.nz()};
}

absl::Status FetchDicom(const Options& options, const formats::Deidentifier* deidentifier,
                        const Interrupt& interrupt) {
  ISO_RETURN_IF_ERROR(formats::CheckUnused("--out", options.out, options.overwrite));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  const client::JobClient jobs(channel);
  if (const auto job = jobs.Get(options.job_id); job.ok()) {
    ISO_RETURN_IF_ERROR(formats::CheckDirectoryDestination(
        {.flag = "--out", .path = options.out, .bytes = LeastDicomBytes(job->result())}));
  }
  DirectorySink sink(options.out, deidentifier, interrupt);
  ISO_RETURN_IF_ERROR(jobs.DownloadDicom(options.job_id, sink));
  ISO_RETURN_IF_ERROR(sink.Finish());
  return options.json.Report(
      absl::StrCat(options.out.string(), ": ", sink.files(), " DICOM files\n"),
      {{"job_id", options.job_id},
       {"out", options.out.string()},
       {"format", "dicom"},
       {"file_count", sink.files()}});
}

absl::Status FetchVolume(const Options& options, const Interrupt& interrupt) {
  const formats::Destination destination{.flag = "--out",
                                         .path = options.out,
                                         .endings = options.format == "mha"
                                                        ? std::vector<std::string>{".mha", ".mhd"}
                                                        : formats::VolumeEndings(),
                                         .replaces = options.overwrite};
  ISO_RETURN_IF_ERROR(formats::CheckFileDestination(destination));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  const client::JobClient jobs(channel);
  // What the job tells is worth a line in the file, and its absence not the volume.
  const auto job = jobs.Get(options.job_id);
  VolumeFileSink sink(destination, job.ok() ? JobFacts(*job) : formats::VolumeFacts{.unit = "HU"},
                      interrupt);
  ISO_RETURN_IF_ERROR(jobs.DownloadVolume(options.job_id, sink));
  ISO_RETURN_IF_ERROR(sink.Finish());
  return options.json.Report(
      absl::StrCat(options.out.string(), ": ", GridText(wire::ToProto(sink.grid())), ", HU\n"),
      {{"job_id", options.job_id},
       {"out", options.out.string()},
       {"format", formats::VolumeEnding(options.out).substr(1)},
       {"grid", ToJson(wire::ToProto(sink.grid()))}});
}

/// Whether a file is wanted and not DICOM. A name that looks like a file of a format that is not
/// written, or like a typo of one that is, does not become a directory.
absl::StatusOr<bool> WantsFile(const Options& options) {
  if (!options.format.empty()) return options.format != "dicom";
  const std::string ending = formats::VolumeEnding(options.out);
  const std::vector<std::string> written = formats::VolumeEndings();
  if (std::ranges::find(written, ending) != written.end()) return true;
  const std::string meant = ending.empty() ? "" : DidYouMean(ending, written);
  if (options.out == "-" || !meant.empty() || formats::LooksLikeAFile(options.out)) {
    return flags::WrongUsage(absl::StrCat(
        "--out is ", options.out.string(),
        "; legal is a directory, for DICOM, or a file that ends in ",
        absl::StrJoin(written, " or "), " (a directory of that name: --format dicom)", meant));
  }
  return false;
}

absl::Status Fetch(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const bool wants_file, WantsFile(options));
  ISO_ASSIGN_OR_RETURN(const std::optional<formats::Deidentifier> deidentifier,
                       MakeDeidentifier(options.deidentify));
  if (deidentifier && wants_file) {
    return flags::WrongUsage(absl::StrCat("--deidentify with the file ", options.out.string(),
                                          "; legal is DICOM: the other formats carry no identity"));
  }
  const Interrupt interrupt;
  if (wants_file) return FetchVolume(options, interrupt);
  return FetchDicom(options, deidentifier ? &*deidentifier : nullptr, interrupt);
}

}  // namespace

void AddFetchCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand("fetch", "Download the result of a completed job");
  command.Footer(
      "Examples:\n"
      "  isocenter fetch JOB --out series              a directory of .dcm files\n"
      "  isocenter fetch JOB --out study7 --deidentify --keep dates --deidentify-key trial.key\n"
      "  isocenter fetch JOB --out v.nii.gz            Hounsfield units as float32, with the grid\n"
      "Into a directory that holds files only those of the same names are replaced, with "
      "--overwrite and where the "
      "fetch has all of them.");
  AddJobArgument(command, o.job_id).Required();
  command.Add("--out", o.out, "directory (DICOM), or file: .mha, .mhd, .nii, .nii.gz")
      .Required()
      .Type("PATH");
  command.Add("--format", o.format, "of the result (default: as the name of --out says)")
      .OneOf({"dicom", "mha"});
  AddOverwriteFlag(command, o.overwrite);
  o.json.AddFlag(command);
  AddDeidentifyFlags(command, o.deidentify);
  AddServerFlags(command, o.server);
  command.Does([options] { return Fetch(*options); });
}

}  // namespace isocenter::cli
