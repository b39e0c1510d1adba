// Data that zlib or gzip have compressed, read front to back.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/formats/file.h"

namespace isocenter::formats {

/// What zlib (RFC 1950) or gzip (RFC 1952) have made of some bytes, inflated as they are read, in
/// 256 KiB of memory whatever the data claim. Several gzip members one after the other are one
/// sequence of bytes, as `gzip -d` has it; what follows them and is no member is not looked at. Not
/// thread-safe.
class InflatedFile {
 public:
  /// `begin`: where the compressed data begin. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<InflatedFile> Open(InputFile file, uint64_t begin);

  /// Fills `bytes` with the next ones. Errors: DATA_LOSS (the data end before, are damaged, or have
  /// another checksum than they should).
  absl::Status Read(std::span<std::byte> bytes);
  /// Whether there are more. False: they have ended as they should, with the right checksum and
  /// length. Reads one byte. Errors: as Read.
  absl::StatusOr<bool> HasMore();
  /// Of the inflated data, how many have been read.
  uint64_t position() const { return position_; }

 private:
  struct End {
    void operator()(z_stream* stream) const;
  };

  InflatedFile(InputFile file, uint64_t begin);
  /// As many as there are, at most bytes.size().
  absl::StatusOr<size_t> ReadSome(std::span<std::byte> bytes);
  absl::Status FillBuffer();
  absl::Status NextMember();

  InputFile file_;
  uint64_t next_input_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<z_stream, End> stream_;
  bool ended_ = false;
  uint64_t position_ = 0;
};

}  // namespace isocenter::formats
