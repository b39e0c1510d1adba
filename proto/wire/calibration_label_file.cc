// The label of a file, without its maps.
#include <fcntl.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"

namespace isocenter::wire {
namespace {

using google::protobuf::io::CodedInputStream;
using Set = v1::CalibrationSet;

constexpr uint32_t kLengthDelimited = 2;
constexpr int kMostLabelBytes = 256 << 10;

/// What corrects has these numbers.
bool Corrects(int field) {
  return field >= Set::kResponseFieldNumber && field < Set::kQualityFieldNumber;
}

std::string NameOf(int field) {
  const auto* const known = Set::descriptor()->FindFieldByNumber(field);
  return known == nullptr ? absl::StrCat("field ", field) : known->name();
}

/// Copies the fields of the label, all of which have a length or 8 bytes, to `label`.
bool ReadFields(CodedInputStream& in, std::string& label, CalibrationFileLabel& file) {
  while (const uint32_t tag = in.ReadTag()) {
    const int field = static_cast<int>(tag >> 3);
    uint32_t length = 8;
    if ((tag & 7) == kLengthDelimited ? !in.ReadVarint32(&length) : (tag & 7) != 1) return false;
    if (length > uint64_t{kMostCalibrationFileBytes}) return false;
    if (std::string name = NameOf(field);
        Corrects(field) && std::ranges::find(file.parts, name) == file.parts.end()) {
      file.parts.push_back(std::move(name));
    }
    if (Corrects(field) || field == Set::kPicturePngFieldNumber) {
      if (!in.Skip(static_cast<int>(length))) return false;
      continue;
    }
    std::string content;
    if (length > kMostLabelBytes - label.size() || !in.ReadString(&content, length)) return false;
    google::protobuf::io::StringOutputStream stream(&label);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.WriteTag(tag);
    if ((tag & 7) == kLengthDelimited) out.WriteVarint32(length);
    out.WriteString(content);
  }
  return in.ConsumedEntireMessage();
}

absl::Status Damaged(const std::string& path, absl::string_view why) {
  return absl::DataLossError(absl::StrCat("the calibration ", path, " ", why));
}

absl::StatusOr<CalibrationFileLabel> ReadFrom(int descriptor, const std::string& path) {
  struct stat status {};
  std::string head(kCalibrationHeaderBytes, '\0');
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      read(descriptor, head.data(), head.size()) != static_cast<ssize_t>(head.size())) {
    return Damaged(path, "cannot be read, or is too short");
  }
  CalibrationFileLabel file;
  ISO_ASSIGN_OR_RETURN(file.header, ParseCalibrationFileHeader(head));
  if (static_cast<uint64_t>(status.st_size) != head.size() + file.header.message_bytes) {
    return Damaged(path, absl::StrCat("has ", status.st_size,
                                      " bytes; legal is what its header "
                                      "says, ",
                                      head.size() + file.header.message_bytes));
  }
  google::protobuf::io::FileInputStream stream(descriptor);
  CodedInputStream in(&stream);
  std::string label;
  if (!ReadFields(in, label, file) || !file.set.ParseFromString(label)) {
    return Damaged(path, "has no label that can be read");
  }
  ISO_RETURN_IF_ERROR(CheckCalibrationLabel(file.set));
  return file;
}

}  // namespace

absl::StatusOr<CalibrationFileLabel> ReadCalibrationLabel(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    const std::string text = absl::StrCat("cannot open ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(text) : absl::PermissionDeniedError(text);
  }
  auto file = ReadFrom(descriptor, path);
  close(descriptor);
  return file;
}

std::vector<std::string> CalibrationParts(const v1::CalibrationSet& set) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  set.GetReflection()->ListFields(set, &fields);
  std::vector<std::string> parts;
  for (const auto* const field : fields) {
    if (Corrects(field->number())) parts.push_back(field->name());
  }
  return parts;
}

}  // namespace isocenter::wire
