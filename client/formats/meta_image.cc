#include "client/formats/meta_image.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/formats/gzip/inflated_file.h"
#include "kernels/base/status_macros.h"
#include "proto/volume/headers.h"

namespace isocenter::formats {
namespace {

constexpr size_t kHeaderLimit = 64 * 1024;
// The third axis of a projection stack counts views, of which there may be up to 10000.
constexpr char kSizes[] = "3 whole numbers, 1 to 8192 for the first two, 1 to 10000 for the third";
constexpr char kSpacings[] = "3 finite numbers above 0, in mm";

const std::pair<const char*, ElementType> kTypes[] = {
    {"MET_CHAR", ElementType::kInt8},     {"MET_UCHAR", ElementType::kUint8},
    {"MET_SHORT", ElementType::kInt16},   {"MET_USHORT", ElementType::kUint16},
    {"MET_INT", ElementType::kInt32},     {"MET_UINT", ElementType::kUint32},
    {"MET_FLOAT", ElementType::kFloat32}, {"MET_DOUBLE", ElementType::kFloat64},
};

/// Tags of the text part, and where it ends.
struct Tags {
  std::string name;
  std::map<std::string, std::string> value;
  uint64_t end = 0;

  absl::Status Error(absl::string_view tag, absl::string_view legal) const {
    auto found = value.find(std::string(tag));
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", tag, " is ",
                     found == value.end() ? "missing" : absl::StrCat("'", found->second, "'"),
                     "; legal is ", legal));
  }
  absl::string_view Get(const char* tag) const {
    auto found = value.find(tag);
    return found == value.end() ? absl::string_view() : absl::string_view(found->second);
  }
  bool Flag(const char* tag) const { return absl::EqualsIgnoreCase(Get(tag), "true"); }

  /// Numbers of a tag; nothing when the tag is absent. `legal`: what errors say that they may be.
  template <class T>
  absl::StatusOr<std::vector<T>> Numbers(const char* tag, size_t count,
                                         absl::string_view legal) const {
    std::vector<T> numbers;
    for (absl::string_view word :
         absl::StrSplit(Get(tag), absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      T number{};
      bool parsed;
      if constexpr (std::is_same_v<T, double>) {
        parsed = absl::SimpleAtod(word, &number) && std::isfinite(number);
      } else {
        parsed = absl::SimpleAtoi(word, &number);
      }
      if (!parsed) return Error(tag, legal);
      numbers.push_back(number);
    }
    if (!numbers.empty() && numbers.size() != count) {
      return Error(tag, legal);
    }
    return numbers;
  }
};

absl::StatusOr<Tags> ReadTags(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string text(std::min<uint64_t>(file.size(), kHeaderLimit), '\0');
  ISO_RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(text))));
  Tags tags{.name = file.name()};
  if (text.empty()) {
    return absl::DataLossError(absl::StrCat(tags.name, " is empty: it has 0 bytes"));
  }
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const absl::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos) {
      if (absl::StripAsciiWhitespace(line).empty()) continue;
      break;
    }
    const std::string tag(absl::StripAsciiWhitespace(line.substr(0, equals)));
    tags.value[tag] = std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
    if (tag == "ElementDataFile") {
      tags.end = begin;
      return tags;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      tags.name, " is not a MetaImage: no line 'ElementDataFile = ...' in its header"));
}

/// Of another size or type, voxels would stand in wrong places.
absl::Status TooLong(const std::string& name, const MetaImageHeader& header,
                     const std::string& there) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, " has more data than its header says: DimSize ", absl::StrJoin(header.size, " x "),
      " with voxels of ", ElementBytes(header.type), " bytes needs ", header.data_bytes(),
      " bytes, and ", there, "; legal are exactly as many"));
}

class PlainData : public MetaImageData {
 public:
  PlainData(InputFile file, uint64_t begin) : file_(std::move(file)), begin_(begin) {}
  absl::Status Read(uint64_t offset, std::span<std::byte> bytes) override {
    return file_.ReadAt(begin_ + offset, bytes);
  }
  absl::StatusOr<bool> HasMore() override { return false; }  // FindData has compared

 private:
  InputFile file_;
  uint64_t begin_;
};

/// zlib or gzip data.
class DeflatedData : public MetaImageData {
 public:
  DeflatedData(InflatedFile file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}
  absl::Status Read(uint64_t offset, std::span<std::byte> bytes) override {
    if (offset < file_.position()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, " is compressed and can be read only forwards"));
    }
    std::vector<std::byte> skipped;
    while (file_.position() < offset) {
      skipped.resize(std::min<uint64_t>(offset - file_.position(), 1 << 18));
      ISO_RETURN_IF_ERROR(file_.Read(skipped));
    }
    return file_.Read(bytes);
  }
  absl::StatusOr<bool> HasMore() override { return file_.HasMore(); }

 private:
  InflatedFile file_;
  std::string name_;
};

absl::Status ReadSize(const Tags& tags, MetaImageHeader& header) {
  if (tags.Get("NDims") != "3") return tags.Error("NDims", "3");
  if (auto n = tags.Get("ElementNumberOfChannels"); !n.empty() && n != "1") {
    return tags.Error("ElementNumberOfChannels", "1");
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<int64_t> size,
                       tags.Numbers<int64_t>("DimSize", 3, kSizes));
  if (size.size() != 3) return tags.Error("DimSize", kSizes);
  for (int a = 0; a < 3; ++a) {
    if (size[a] < 1 || size[a] > (a == 2 ? 10000 : 8192)) {
      return tags.Error("DimSize", kSizes);
    }
    header.size[a] = size[a];
  }
  return absl::OkStatus();
}

absl::Status ReadGeometry(const Tags& tags, MetaImageHeader& header) {
  for (const char* tag : {"ElementSize", "ElementSpacing"}) {  // ElementSpacing wins
    ISO_ASSIGN_OR_RETURN(const std::vector<double> spacing,
                         tags.Numbers<double>(tag, 3, kSpacings));
    for (size_t a = 0; a < spacing.size(); ++a) {
      if (!(spacing[a] > 0)) return tags.Error(tag, kSpacings);
      header.spacing[a] = spacing[a];
    }
  }
  for (const char* tag : {"Origin", "Position", "Offset"}) {  // synonyms; Offset wins
    ISO_ASSIGN_OR_RETURN(const std::vector<double> offset,
                         tags.Numbers<double>(tag, 3, "3 finite numbers, in mm"));
    std::copy(offset.begin(), offset.end(), header.offset.begin());
  }
  for (const char* tag : {"Orientation", "Rotation", "TransformMatrix"}) {
    ISO_ASSIGN_OR_RETURN(const std::vector<double> axes,
                         tags.Numbers<double>(tag, 9, "9 finite numbers"));
    std::copy(axes.begin(), axes.end(), header.axes.begin());
  }
  return absl::OkStatus();
}

absl::Status ReadCoding(const Tags& tags, MetaImageHeader& header) {
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const auto& t) { return tags.Get("ElementType") == t.first; });
  if (type == std::end(kTypes)) {
    return tags.Error(
        "ElementType",
        absl::StrJoin(kTypes, ", ", [](std::string* out, const auto& t) { out->append(t.first); }));
  }
  header.type = type->second;
  header.big_endian = tags.Flag("BinaryDataByteOrderMSB") || tags.Flag("ElementByteOrderMSB");
  header.compressed = tags.Flag("CompressedData");
  return absl::OkStatus();
}

/// Where the data are, and whether they can be as many as the header says.
absl::Status FindData(const Tags& tags, const std::filesystem::path& path,
                      MetaImageHeader& header) {
  const std::string data_file(tags.Get("ElementDataFile"));
  if (data_file.empty() || data_file == "LIST" || absl::StrContains(data_file, "%")) {
    return tags.Error("ElementDataFile", "LOCAL or the name of one file");
  }
  const bool local = absl::EqualsIgnoreCase(data_file, "LOCAL");
  header.data_path = local ? path : path.parent_path() / data_file;
  ISO_ASSIGN_OR_RETURN(const InputFile data, InputFile::Open(header.data_path));
  ISO_ASSIGN_OR_RETURN(const std::vector<int64_t> skip,
                       tags.Numbers<int64_t>("HeaderSize", 1, "a whole number, -1 or more"));
  if (local) {
    header.data_offset = tags.end;
  } else if (!skip.empty() && skip[0] == -1) {  // the data are at the end of the file
    header.data_offset = data.size() - std::min(data.size(), header.data_bytes());
  } else if (!skip.empty()) {
    if (skip[0] < 0) return tags.Error("HeaderSize", "-1 or more");
    header.data_offset = skip[0];
  }
  header.stored_bytes = data.size() - std::min(data.size(), header.data_offset);
  if (header.data_bytes() > header.stored_bytes * (header.compressed ? kLargestDeflateRatio : 1)) {
    return absl::DataLossError(absl::StrCat(
        data.name(), " is truncated: DimSize ", absl::StrJoin(header.size, " x "), " needs ",
        header.data_bytes(), " bytes, and there are ", header.stored_bytes));
  }
  // HeaderSize says where the data begin; who states it may have something behind them, too.
  if (!header.compressed && skip.empty() && header.data_bytes() < header.stored_bytes) {
    return TooLong(data.name(), header, absl::StrCat("there are ", header.stored_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MetaImageHeader> ReadMetaImageHeader(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(const Tags tags, ReadTags(path));
  MetaImageHeader header;
  ISO_RETURN_IF_ERROR(ReadSize(tags, header));
  ISO_RETURN_IF_ERROR(ReadGeometry(tags, header));
  ISO_RETURN_IF_ERROR(ReadCoding(tags, header));
  ISO_RETURN_IF_ERROR(FindData(tags, path, header));
  for (const auto& [key, value] : tags.value) TakeUpFact(key, value, header.facts);
  return header;
}

absl::StatusOr<std::unique_ptr<MetaImageData>> MetaImageData::Open(const MetaImageHeader& header) {
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(header.data_path));
  if (header.compressed) {
    ISO_ASSIGN_OR_RETURN(InflatedFile inflated,
                         InflatedFile::Open(std::move(file), header.data_offset));
    return std::make_unique<DeflatedData>(std::move(inflated), header.data_path.string());
  }
  return std::make_unique<PlainData>(std::move(file), header.data_offset);
}

absl::StatusOr<Volume> ReadMetaImage(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(const MetaImageHeader header, ReadMetaImageHeader(path));
  const auto& [nx, ny, nz] = header.size;
  ISO_ASSIGN_OR_RETURN(const int64_t voxels, CheckedVoxelCount(nx, ny, nz, path.string()));
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<MetaImageData> data, MetaImageData::Open(header));
  Volume volume{.facts = header.facts};
  volume.grid = {.nx = int(nx), .ny = int(ny), .nz = int(nz)};
  volume.grid.spacing = {header.spacing[0], header.spacing[1], header.spacing[2]};
  volume.grid.origin = {header.offset[0], header.offset[1], header.offset[2]};
  for (int axis = 0; axis < 3; ++axis) {
    for (int i = 0; i < 3; ++i) volume.grid.direction[i * 3 + axis] = header.axes[axis * 3 + i];
  }
  ISO_ASSIGN_OR_RETURN(
      volume.voxels,
      ReadVoxels(path.string(), voxels, {.type = header.type, .big_endian = header.big_endian},
                 header.stored_bytes, [&data](uint64_t offset, std::span<std::byte> bytes) {
                   return data->Read(offset, bytes);
                 }));
  ISO_ASSIGN_OR_RETURN(const bool has_more, data->HasMore());
  if (has_more) return TooLong(path.string(), header, "more are in the compressed data");
  return WithRightHandedGrid(std::move(volume), path.string());
}

absl::StatusOr<MetaImageWriter> MetaImageWriter::Create(const std::filesystem::path& path,
                                                        const VolumeGrid& grid,
                                                        const VolumeFacts& facts) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  const bool local = path.extension() == ".mha";
  if (!local && path.extension() != ".mhd") {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path.string(), "' does not end in .mha or .mhd"));
  }
  std::filesystem::path data_path = path;
  if (!local) data_path.replace_extension(".raw");
  const std::string text = volume_file::MetaImageText(
      grid, local ? "LOCAL" : data_path.filename().string(), FactLines(facts));
  ISO_ASSIGN_OR_RETURN(OutputFile data_file, OutputFile::Create(data_path));
  MetaImageWriter writer(std::move(data_file));
  writer.missing_ = grid.voxels();
  if (local) {
    ISO_RETURN_IF_ERROR(writer.file_.Write(std::as_bytes(std::span(text))));
  } else {
    ISO_ASSIGN_OR_RETURN(OutputFile header_file, OutputFile::Create(path));
    ISO_RETURN_IF_ERROR(header_file.Write(std::as_bytes(std::span(text))));
    writer.header_file_.emplace(std::move(header_file));
  }
  return writer;
}

absl::Status MetaImageWriter::Append(std::span<const float> voxels) {
  if (int64_t(voxels.size()) > missing_) {
    return absl::InvalidArgumentError(
        absl::StrCat(voxels.size(), " voxels given where ", missing_, " are missing"));
  }
  missing_ -= voxels.size();
  return file_.Write(std::as_bytes(voxels));
}

absl::Status MetaImageWriter::Finish() {
  if (missing_ != 0) {
    return absl::FailedPreconditionError(absl::StrCat(missing_, " voxels are missing"));
  }
  ISO_RETURN_IF_ERROR(file_.Commit());
  return header_file_ ? header_file_->Commit() : absl::OkStatus();
}

absl::Status WriteMetaImage(const std::filesystem::path& path, const Volume& volume) {
  ISO_ASSIGN_OR_RETURN(MetaImageWriter writer,
                       MetaImageWriter::Create(path, volume.grid, volume.facts));
  ISO_RETURN_IF_ERROR(writer.Append(volume.voxels));
  return writer.Finish();
}

}  // namespace isocenter::formats
