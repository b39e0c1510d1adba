#include "server/replicas/replica.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "isocenter/v1/replicas.pb.h"
#include "kernels/base/status_macros.h"
#include "server/jobs/job.h"

namespace isocenter::replicas {
namespace {

constexpr size_t kSpoolIdDigits = 32;
// Of strangers' texts, in what they are told.
constexpr size_t kShown = 80;

bool IsSpoolId(const std::string& id) {
  return id.size() == kSpoolIdDigits && std::ranges::all_of(id, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status CheckRange(const char* field, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("header.", field, " is ", value, "; legal is 1 to ", most));
}

absl::Status CheckLength(const char* field, size_t length, size_t most) {
  if (length <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("header.", field, " has ", length, " bytes; legal is at most ", most));
}

}  // namespace

absl::Status CheckOrigin(const Origin& origin) {
  // Names of nodes and of jobs have the same characters.
  if (!jobs::CheckJobId(origin.node).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("origin.node is '",
                                                   origin.node.substr(0, kShown),
                                                   "'; legal is 1 to 64 of [A-Za-z0-9_.-]"));
  }
  if (!IsSpoolId(origin.spool_id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("origin.spool_id is '", origin.spool_id.substr(0, kShown), "'; legal are ",
                     kSpoolIdDigits, " digits of 0-9a-f"));
  }
  return absl::OkStatus();
}

absl::Status CheckHeader(const ReplicaHeader& header) {
  ISO_RETURN_IF_ERROR(CheckOrigin(header.origin));
  if (!jobs::CheckJobId(header.job_id).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("header.job_id is '",
                                                   header.job_id.substr(0, kShown),
                                                   "'; legal is 1 to 64 of [A-Za-z0-9_.-]"));
  }
  ISO_RETURN_IF_ERROR(CheckLength("begun_by", header.begun_by.size(), kMostBegunByBytes));
  ISO_RETURN_IF_ERROR(CheckLength("acquisition", header.acquisition.size(), kMostAcquisitionBytes));
  ISO_RETURN_IF_ERROR(CheckRange("frames", header.frames, kMostFrames));
  return CheckRange("frame_bytes", header.frame_bytes, int64_t{1} << 30);
}

std::string EncodeRecord(const Record& record) {
  v1::ReplicaRecord message;
  message.mutable_origin()->set_node(record.origin.node);
  message.mutable_origin()->set_spool_id(record.origin.spool_id);
  message.set_begun_by(record.begun_by);
  message.set_acquisition(record.acquisition);
  return message.SerializeAsString();
}

absl::StatusOr<Record> DecodeRecord(const std::string& bytes) {
  v1::ReplicaRecord message;
  if (!message.ParseFromString(bytes)) {
    return absl::DataLossError(
        absl::StrCat("the record of a copy, of ", bytes.size(), " bytes, cannot be read"));
  }
  Record record{.origin = {message.origin().node(), message.origin().spool_id()},
                .begun_by = message.begun_by(),
                .acquisition = message.acquisition()};
  const absl::Status checked = CheckOrigin(record.origin);
  if (!checked.ok()) return absl::DataLossError(checked.message());
  return record;
}

}  // namespace isocenter::replicas
