#include "server/stow/multipart_body.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::stow {
namespace {

class Reader {
 public:
  Reader(std::vector<Object> objects, const std::string& boundary) : objects_(std::move(objects)) {
    for (size_t i = 0; i < objects_.size(); ++i) {
      Add(absl::StrCat(i == 0 ? "" : "\r\n", "--", boundary,
                       "\r\nContent-Type: application/dicom\r\n\r\n"));
      pieces_.push_back({.begin = bytes_, .bytes = objects_[i].bytes, .object = i});
      bytes_ += objects_[i].bytes;
    }
    Add(absl::StrCat("\r\n--", boundary, "--\r\n"));
  }
  ~Reader() { Close(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  uint64_t bytes() const { return bytes_; }

  absl::Status Read(uint64_t offset, std::span<char> to) {
    // The piece that `offset` is in.
    auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                  [](uint64_t at, const Piece& next) { return at < next.begin; });
    for (--piece; !to.empty(); ++piece) {
      const uint64_t within = offset - piece->begin;
      const size_t bytes = std::min<uint64_t>(to.size(), piece->bytes - within);
      if (piece->text.empty()) {
        ISO_RETURN_IF_ERROR(ReadFile(piece->object, within, to.first(bytes)));
      } else {
        std::memcpy(to.data(), piece->text.data() + within, bytes);
      }
      offset += bytes;
      to = to.subspan(bytes);
    }
    return absl::OkStatus();
  }

 private:
  /// Text, or an object's file.
  struct Piece {
    uint64_t begin = 0, bytes = 0;
    std::string text;
    size_t object = 0;
  };

  void Add(std::string text) {
    const uint64_t bytes = text.size();
    pieces_.push_back({.begin = bytes_, .bytes = bytes, .text = std::move(text)});
    bytes_ += bytes;
  }
  void Close() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  absl::Status ReadFile(size_t object, uint64_t offset, std::span<char> to) {
    if (descriptor_ < 0 || open_object_ != object) {
      Close();
      descriptor_ = open(objects_[object].file.c_str(), O_RDONLY | O_CLOEXEC);
      open_object_ = object;
      if (descriptor_ < 0) {
        return absl::NotFoundError(absl::StrCat("the stored file of ",
                                                objects_[object].sop_instance_uid,
                                                " cannot be opened: ", std::strerror(errno)));
      }
    }
    while (!to.empty()) {
      const ssize_t bytes = pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) {
        return absl::DataLossError(absl::StrCat("the stored file of ",
                                                objects_[object].sop_instance_uid,
                                                " cannot be read at byte ", offset));
      }
      offset += static_cast<uint64_t>(bytes);
      to = to.subspan(static_cast<size_t>(bytes));
    }
    return absl::OkStatus();
  }

  const std::vector<Object> objects_;
  std::vector<Piece> pieces_;  // in order, without gaps
  uint64_t bytes_ = 0;
  int descriptor_ = -1;
  size_t open_object_ = 0;
};

}  // namespace

web::Body MultipartBody(std::vector<Object> objects, const std::string& boundary) {
  auto reader = std::make_shared<Reader>(std::move(objects), boundary);
  const uint64_t bytes = reader->bytes();
  return {.bytes = bytes,
          .read = [reader = std::move(reader)](uint64_t offset, std::span<char> piece) {
            return reader->Read(offset, piece);
          }};
}

}  // namespace isocenter::stow
