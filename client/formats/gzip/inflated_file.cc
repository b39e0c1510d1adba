#include "client/formats/gzip/inflated_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

constexpr size_t kBufferBytes = 1 << 18;
constexpr int kDetectZlibOrGzip = MAX_WBITS + 32;  // inflateInit2's argument, zlib.h

}  // namespace

void InflatedFile::End::operator()(z_stream* stream) const {
  inflateEnd(stream);
  delete stream;
}

InflatedFile::InflatedFile(InputFile file, uint64_t begin)
    : file_(std::move(file)), next_input_(begin), buffer_(kBufferBytes) {}

absl::StatusOr<InflatedFile> InflatedFile::Open(InputFile file, uint64_t begin) {
  InflatedFile inflated(std::move(file), begin);
  auto stream = std::make_unique<z_stream>();
  if (inflateInit2(stream.get(), kDetectZlibOrGzip) != Z_OK) {
    return absl::ResourceExhaustedError("no memory to inflate compressed data");
  }
  inflated.stream_.reset(stream.release());
  return inflated;
}

absl::Status InflatedFile::FillBuffer() {
  if (stream_->avail_in > 0) std::memmove(buffer_.data(), stream_->next_in, stream_->avail_in);
  const size_t kept = stream_->avail_in;
  const uint64_t left = file_.size() - std::min(file_.size(), next_input_);
  const size_t count = std::min<uint64_t>(buffer_.size() - kept, left);
  ISO_RETURN_IF_ERROR(file_.ReadAt(next_input_, std::span(buffer_).subspan(kept, count)));
  next_input_ += count;
  stream_->next_in = reinterpret_cast<Bytef*>(buffer_.data());
  stream_->avail_in = static_cast<uInt>(kept + count);
  return absl::OkStatus();
}

absl::Status InflatedFile::NextMember() {
  if (stream_->avail_in < 2) ISO_RETURN_IF_ERROR(FillBuffer());
  const Bytef* next = stream_->next_in;
  ended_ = stream_->avail_in < 2 || next[0] != 0x1f || next[1] != 0x8b;
  if (!ended_) inflateReset(stream_.get());
  return absl::OkStatus();
}

absl::StatusOr<size_t> InflatedFile::ReadSome(std::span<std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size() && !ended_) {
    if (stream_->avail_in == 0) ISO_RETURN_IF_ERROR(FillBuffer());
    if (stream_->avail_in == 0) {
      return absl::DataLossError(absl::StrCat(file_.name(),
                                              " is truncated: the compressed data end after ",
                                              position_, " bytes, without their checksum"));
    }
    const size_t wanted = std::min<size_t>(bytes.size() - done, 1 << 30);
    stream_->next_out = reinterpret_cast<Bytef*>(bytes.data() + done);
    stream_->avail_out = static_cast<uInt>(wanted);
    const int result = inflate(stream_.get(), Z_NO_FLUSH);
    done += wanted - stream_->avail_out;
    position_ += wanted - stream_->avail_out;
    if (result == Z_STREAM_END) {
      ISO_RETURN_IF_ERROR(NextMember());
    } else if (result != Z_OK) {
      return absl::DataLossError(
          absl::StrCat(file_.name(), ": compressed data are damaged after ", position_, " bytes (",
                       stream_->msg != nullptr ? stream_->msg : "zlib", ")"));
    }
  }
  return done;
}

absl::Status InflatedFile::Read(std::span<std::byte> bytes) {
  ISO_ASSIGN_OR_RETURN(const size_t done, ReadSome(bytes));
  if (done == bytes.size()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(file_.name(), " is truncated: the compressed data end after ", position_,
                   " bytes, ", bytes.size() - done, " before those that are needed"));
}

absl::StatusOr<bool> InflatedFile::HasMore() {
  std::byte more;
  ISO_ASSIGN_OR_RETURN(const size_t done, ReadSome({&more, 1}));
  return done == 1;
}

}  // namespace isocenter::formats
