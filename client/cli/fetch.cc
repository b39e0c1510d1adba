// isocenter fetch: a job's result as files.
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/progress_bar.h"
#include "client/cli/server_flags.h"
#include "client/formats/file.h"
#include "client/formats/meta_image.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  std::filesystem::path out;
  std::string format = "dicom";
};

class DirectorySink : public client::DicomSink {
 public:
  explicit DirectorySink(std::filesystem::path directory) : directory_(std::move(directory)) {}
  absl::Status OnFileCount(int files) override {
    bar_.emplace("download", "files", files);
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (!error) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the directory ", directory_.string(), ": ", error.message()));
  }
  absl::Status OnFile(const std::string& name) override {
    ISO_ASSIGN_OR_RETURN(formats::OutputFile file, formats::OutputFile::Create(directory_ / name));
    file_.emplace(std::move(file));
    return absl::OkStatus();
  }
  absl::Status OnData(absl::string_view data) override {
    return file_->Write(std::as_bytes(std::span(data.data(), data.size())));
  }
  absl::Status OnEndOfFile() override {
    ISO_RETURN_IF_ERROR(file_->Commit());
    file_.reset();
    bar_->Update(++files_);
    return absl::OkStatus();
  }

 private:
  std::filesystem::path directory_;
  std::optional<formats::OutputFile> file_;
  std::optional<ProgressBar> bar_;
  int64_t files_ = 0;
};

class MetaImageSink : public client::VolumeSink {
 public:
  explicit MetaImageSink(std::filesystem::path path) : path_(std::move(path)) {}
  absl::Status OnGrid(const VolumeGrid& grid) override {
    bar_.emplace("download", "voxels", grid.voxels());
    ISO_ASSIGN_OR_RETURN(formats::MetaImageWriter writer,
                         formats::MetaImageWriter::Create(path_, grid));
    writer_.emplace(std::move(writer));
    return absl::OkStatus();
  }
  absl::Status OnVoxels(std::span<const float> voxels) override {
    voxels_ += static_cast<int64_t>(voxels.size());
    bar_->Update(voxels_);
    return writer_->Append(voxels);
  }
  absl::Status Finish() { return writer_->Finish(); }

 private:
  std::filesystem::path path_;
  std::optional<formats::MetaImageWriter> writer_;
  std::optional<ProgressBar> bar_;
  int64_t voxels_ = 0;
};

absl::Status Fetch(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  const client::JobClient jobs(channel);
  if (options.format == "dicom") {
    DirectorySink sink(options.out);
    return jobs.DownloadDicom(options.job_id, sink);
  }
  MetaImageSink sink(options.out);
  ISO_RETURN_IF_ERROR(jobs.DownloadVolume(options.job_id, sink));
  return sink.Finish();
}

}  // namespace

void AddFetchCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App& command = *app.add_subcommand("fetch", "Download the result of a completed job");
  command.footer(
      "Examples:\n"
      "  isocenter fetch JOB --out series              a directory of .dcm files\n"
      "  isocenter fetch JOB --format mha --out v.mha  Hounsfield units as float32, with the grid");
  command.add_option("job", o.job_id, "job id")->required()->type_name("JOB");
  command.add_option("--out", o.out, "directory (dicom) or .mha file to write")
      ->required()
      ->type_name("PATH");
  command.add_option("--format", o.format, "of the result")
      ->check(CLI::IsMember({"dicom", "mha"}))
      ->capture_default_str();
  AddServerFlags(command, o.server);
  command.callback([options, &action] { action = [options] { return Fetch(*options); }; });
}

}  // namespace isocenter::cli
