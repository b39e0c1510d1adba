#include "client/frame_store.h"

#include <fcntl.h>
#include <grpcpp/support/slice.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {
namespace {

/// All of `bytes`, at `offset` of a file.
absl::Status WriteAll(int file, std::span<const uint8_t> bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, "cannot write");
    bytes = bytes.subspan(written);
    offset += written;
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int file, std::span<uint8_t> bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t read = pread(file, bytes.data(), bytes.size(), offset);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return absl::ErrnoToStatus(errno, "cannot read");
    if (read == 0) return absl::DataLossError("the file is shorter than what was written");
    bytes = bytes.subspan(read);
    offset += read;
  }
  return absl::OkStatus();
}

}  // namespace

FrameStore::FrameStore(int64_t max_memory_bytes, std::string folder)
    : max_memory_bytes_(max_memory_bytes), folder_(std::move(folder)) {}

FrameStore::~FrameStore() {
  if (file_ >= 0) close(file_);
}

void FrameStore::Put(uint32_t index, const grpc::ByteBuffer& message) {
  if (!complete_.ok()) return;  // what is there is of no use
  const auto bytes = static_cast<int64_t>(message.Length());
  if (memory_bytes_ + bytes <= max_memory_bytes_) {
    in_memory_.emplace(index, message);
    memory_bytes_ += bytes;
    return;
  }
  complete_ = Write(index, message);
  if (complete_.ok()) return;
  in_memory_.clear();
  in_file_.clear();
  memory_bytes_ = 0;
  // Its room is others'.
  if (file_ >= 0 && ftruncate(file_, 0) != 0) {
    complete_ = absl::Status(complete_.code(), absl::StrCat(complete_.message(), ", nor emptied"));
  }
}

absl::Status FrameStore::OpenFile() {
  if (file_ >= 0) return absl::OkStatus();
  if (folder_.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("the frames take more than ",
                                                     BytesText(max_memory_bytes_),
                                                     " of memory, and no folder is set"));
  }
  std::string path = absl::StrCat(folder_, "/isocenter-frames-XXXXXX");
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make '", path, "'"));
  if (unlink(path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot unlink '", path, "'"));
  }
  return absl::OkStatus();
}

absl::Status FrameStore::Write(uint32_t index, const grpc::ByteBuffer& message) {
  ISO_RETURN_IF_ERROR(OpenFile());
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return absl::InternalError("a message cannot be read");
  Place place{.offset = file_bytes_};
  for (const grpc::Slice& slice : slices) {
    const absl::Status written =
        WriteAll(file_, {slice.begin(), slice.size()}, place.offset + place.bytes);
    if (!written.ok()) {
      return absl::Status(written.code(),
                          absl::StrCat("frames kept in '", folder_, "': ", written.message()));
    }
    place.bytes += static_cast<int64_t>(slice.size());
  }
  file_bytes_ += place.bytes;
  in_file_.emplace(index, place);
  return absl::OkStatus();
}

absl::StatusOr<grpc::ByteBuffer> FrameStore::Get(uint32_t index) const {
  if (const auto it = in_memory_.find(index); it != in_memory_.end()) return it->second;
  const auto it = in_file_.find(index);
  if (it == in_file_.end()) {
    return absl::NotFoundError(absl::StrCat("frame ", index, " was not kept"));
  }
  std::vector<uint8_t> bytes(it->second.bytes);
  ISO_RETURN_IF_ERROR(ReadAll(file_, bytes, it->second.offset));
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace isocenter::client
