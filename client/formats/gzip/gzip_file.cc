#include "client/formats/gzip/gzip_file.h"

#include <algorithm>

#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

constexpr size_t kBufferBytes = 1 << 18;
constexpr int kGzip = MAX_WBITS + 16;  // deflateInit2's arguments, zlib.h
constexpr int kMemory = 8;

}  // namespace

void GzipFile::End::operator()(z_stream* stream) const {
  deflateEnd(stream);
  delete stream;
}

GzipFile::GzipFile(OutputFile file) : file_(std::move(file)), buffer_(kBufferBytes) {}

absl::StatusOr<GzipFile> GzipFile::Create(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  GzipFile gzip(std::move(file));
  auto stream = std::make_unique<z_stream>();
  if (deflateInit2(stream.get(), Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return absl::ResourceExhaustedError("no memory to compress with gzip");
  }
  gzip.stream_.reset(stream.release());
  return gzip;
}

absl::Status GzipFile::Deflate(int flush) {
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(buffer_.data());
    stream_->avail_out = static_cast<uInt>(buffer_.size());
    // Z_BUF_ERROR says that nothing was left to do, and leaves the buffer empty.
    (void)deflate(stream_.get(), flush);
    ISO_RETURN_IF_ERROR(file_.Write(std::span(buffer_).first(buffer_.size() - stream_->avail_out)));
  } while (stream_->avail_out == 0);
  return absl::OkStatus();
}

absl::Status GzipFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t count = std::min<size_t>(bytes.size(), 1 << 30);
    // zlib reads only; its type is older than const.
    stream_->next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_->avail_in = static_cast<uInt>(count);
    ISO_RETURN_IF_ERROR(Deflate(Z_NO_FLUSH));
    bytes = bytes.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status GzipFile::Commit() {
  ISO_RETURN_IF_ERROR(Deflate(Z_FINISH));
  return file_.Commit();
}

}  // namespace isocenter::formats
