#include "client/formats/bundle.h"

#include <google/protobuf/text_format.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/formats/file.h"
#include "client/formats/json_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/corrections.h"
#include "proto/text/message_text.h"
#include "proto/wire/acquisition.h"

namespace isocenter::formats {
namespace {

constexpr char kHeaderFile[] = "acquisition.textproto";
constexpr char kFramesFile[] = "frames.raw";
constexpr char kDescriptionFile[] = "bundle.json";
constexpr char kDosesFile[] = "doses.txt";
constexpr char kFormatName[] = "isocenter-bundle";
constexpr uint64_t kDosesLimit = 1 << 20;  // 10000 numbers
constexpr uint64_t kTextLimit = 64 << 20;  // 10000 matrices in text are about 3 MB

absl::StatusOr<v1::AcquisitionHeader> ReadHeader(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadText(path, kTextLimit));
  v1::AcquisitionHeader header;
  ISO_RETURN_IF_ERROR(text::ParseMessage(text, path.string(), "docs/formats/bundle.md", header));
  return header;
}

absl::Status CheckDoses(absl::string_view name, std::span<const float> doses, uint32_t frames) {
  if (doses.size() != frames) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has ", doses.size(), " doses; legal is one for each of ", frames, " frames"));
  }
  for (size_t i = 0; i < doses.size(); ++i) {
    const absl::Status status = ops::CheckGivenDose(static_cast<int64_t>(i), doses[i]);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

/// A number on each line; none where there is no such file.
absl::StatusOr<std::vector<float>> ReadDoses(const std::filesystem::path& path, uint32_t frames) {
  std::vector<float> doses;
  std::error_code unreadable;  // is said when it is opened
  if (!std::filesystem::exists(path, unreadable) && !unreadable) return doses;
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadText(path, kDosesLimit));
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    float dose = 0;
    if (!absl::SimpleAtof(line, &dose)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path.string(), ": line ", doses.size() + 1, " is not a number"));
    }
    doses.push_back(dose);
  }
  ISO_RETURN_IF_ERROR(CheckDoses(path.string(), doses, frames));
  return doses;
}

/// As an error shows it. Printing what is nested deeply would take as deep a stack.
std::string Shown(const nlohmann::json& value) {
  constexpr size_t kMostShown = 60;
  if (value.is_number()) return value.dump();
  if (!value.is_string()) return absl::StrCat("no number or text, but ", value.type_name());
  return absl::StrCat("\"", absl::CHexEscape(value.get<std::string>().substr(0, kMostShown)), "\"");
}

class BundleSource : public FrameSource {
 public:
  BundleSource(v1::AcquisitionHeader header, InputFile frames, int64_t frame_bytes,
               std::vector<float> doses)
      : header_(std::move(header)),
        frames_(std::move(frames)),
        frame_bytes_(frame_bytes),
        doses_(std::move(doses)) {}
  const v1::AcquisitionHeader& header() const override { return header_; }
  int64_t frame_bytes() const override { return frame_bytes_; }
  float dose(int64_t index) const override { return doses_.empty() ? 0 : doses_[index]; }
  absl::Status Read(int64_t index, std::span<std::byte> pixels) override {
    return frames_.ReadAt(index * frame_bytes_, pixels);
  }

 private:
  v1::AcquisitionHeader header_;
  InputFile frames_;
  int64_t frame_bytes_;
  std::vector<float> doses_;  // of the frames; or none
};

/// A directory that was made for files; goes with the last of them, or if none came.
class MadeDirectory {
 public:
  explicit MadeDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  MadeDirectory(MadeDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MadeDirectory& operator=(MadeDirectory&&) = delete;
  ~MadeDirectory() {
    std::error_code not_empty;
    if (!path_.empty()) std::filesystem::remove(path_, not_empty);
  }

 private:
  std::filesystem::path path_;
};

class BundleSink : public FrameSink {
 public:
  BundleSink(std::filesystem::path directory, MadeDirectory made, v1::AcquisitionHeader header,
             BundleDescription description, OutputFile frames, int64_t frame_bytes,
             std::vector<float> doses)
      : directory_(std::move(directory)),
        made_(std::move(made)),
        header_(std::move(header)),
        description_(std::move(description)),
        frames_(std::move(frames)),
        frame_bytes_(frame_bytes),
        doses_(std::move(doses)) {}

  absl::Status Append(std::span<const std::byte> pixels) override {
    if (static_cast<int64_t>(pixels.size()) != frame_bytes_ || written_ == header_.frame_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame ", written_, " of ", pixels.size(), " bytes does not fit; legal is ",
                       header_.frame_count(), " frames of ", frame_bytes_, " bytes"));
    }
    ++written_;
    return frames_.Write(pixels);
  }

  absl::Status Finish() override {
    if (written_ != header_.frame_count()) {
      return absl::FailedPreconditionError(
          absl::StrCat(written_, " of ", header_.frame_count(), " frames were written"));
    }
    // Until here a bundle that was there before is whole; from here on there is none.
    std::error_code none;
    std::filesystem::remove(directory_ / kDescriptionFile, none);
    std::filesystem::remove(directory_ / kDosesFile, none);
    if (!doses_.empty()) {
      ISO_RETURN_IF_ERROR(WriteText(directory_ / kDosesFile, absl::StrJoin(doses_, "\n") + "\n"));
    }
    ISO_RETURN_IF_ERROR(frames_.Commit());
    std::string text;
    google::protobuf::TextFormat::Printer printer;
    printer.SetUseShortRepeatedPrimitives(true);  // one line per matrix
    printer.PrintToString(header_, &text);
    ISO_RETURN_IF_ERROR(WriteText(directory_ / kHeaderFile, text));
    nlohmann::ordered_json json;
    json["format"] = kFormatName;
    json["version"] = kBundleVersion;
    json["description"] = description_;
    // Last: a directory is a bundle only when this file is there.
    return WriteText(directory_ / kDescriptionFile, json.dump(2) + "\n");
  }

 private:
  std::filesystem::path directory_;
  MadeDirectory made_;  // before frames_, whose unfinished file goes first
  v1::AcquisitionHeader header_;
  BundleDescription description_;
  OutputFile frames_;
  int64_t frame_bytes_;
  std::vector<float> doses_;
  uint32_t written_ = 0;
};

}  // namespace

absl::StatusOr<BundleDescription> ReadBundleDescription(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kDescriptionFile;
  ISO_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonObject(path, kTextLimit));
  const auto format = json.find("format");
  if (format == json.end() || *format != kFormatName) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": \"format\" is ", format == json.end() ? "missing" : Shown(*format),
        "; legal is \"", kFormatName, "\""));
  }
  const auto version = json.find("version");
  if (version == json.end() || *version != kBundleVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": \"version\" is ", version == json.end() ? "missing" : Shown(*version),
        "; legal is ", kBundleVersion));
  }
  BundleDescription description;
  if (json.contains("description") && json["description"].is_object()) {
    for (const auto& [key, value] : json["description"].items()) {
      if (value.is_string()) description[key] = value.get<std::string>();
    }
  }
  return description;
}

absl::StatusOr<std::unique_ptr<FrameSource>> OpenBundle(const std::filesystem::path& directory) {
  ISO_RETURN_IF_ERROR(ReadBundleDescription(directory).status());
  ISO_ASSIGN_OR_RETURN(v1::AcquisitionHeader header, ReadHeader(directory / kHeaderFile));
  const absl::StatusOr<int64_t> frame_bytes = wire::CheckedFrameBytes(header);
  if (!frame_bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat((directory / kHeaderFile).string(), ": ", frame_bytes.status().message()));
  }
  ISO_ASSIGN_OR_RETURN(InputFile frames, InputFile::Open(directory / kFramesFile));
  const uint64_t expected = uint64_t(*frame_bytes) * header.frame_count();
  if (frames.size() != expected) {
    return absl::DataLossError(absl::StrCat(frames.name(), " has ", frames.size(), " bytes, but ",
                                            kHeaderFile, " states ", header.frame_count(),
                                            " frames of ", *frame_bytes, " bytes = ", expected));
  }
  ISO_ASSIGN_OR_RETURN(std::vector<float> doses,
                       ReadDoses(directory / kDosesFile, header.frame_count()));
  return std::make_unique<BundleSource>(std::move(header), std::move(frames), *frame_bytes,
                                        std::move(doses));
}

absl::StatusOr<std::unique_ptr<FrameSink>> CreateBundle(const std::filesystem::path& directory,
                                                        const v1::AcquisitionHeader& header,
                                                        const BundleDescription& description,
                                                        std::vector<float> doses) {
  ISO_ASSIGN_OR_RETURN(const int64_t frame_bytes, wire::CheckedFrameBytes(header));
  if (!doses.empty()) {
    ISO_RETURN_IF_ERROR(CheckDoses("the bundle", doses, header.frame_count()));
  }
  std::error_code error;
  MadeDirectory made(std::filesystem::exists(directory, error) ? "" : directory);
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the directory ", directory.string(), ": ", error.message()));
  }
  ISO_ASSIGN_OR_RETURN(OutputFile frames, OutputFile::Create(directory / kFramesFile));
  return std::make_unique<BundleSink>(directory, std::move(made), header, description,
                                      std::move(frames), frame_bytes, std::move(doses));
}

}  // namespace isocenter::formats
