// Stored files as the body of an answer: with what stands before them, or packed into one archive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/http/transport/http.h"
#include "server/viewer/raw_volume.h"

namespace isocenter::http {

/// Some text, then bytes of a file, then some text.
struct BodyPart {
  std::string before;
  std::filesystem::path file;
  int64_t file_bytes = 0;
  std::string after;
  int64_t file_offset = 0;  // of the first of its bytes
};

/// Reads a piece at a time. A file that is not as long as was said, or is gone, is an error.
class StoredFiles : public Body {
 public:
  static constexpr int64_t kPieceBytes = 512 << 10;

  /// `held` is let go when the body is.
  StoredFiles(std::vector<BodyPart> parts, std::shared_ptr<void> held);

  std::optional<int64_t> bytes() const override { return bytes_; }
  absl::StatusOr<std::string> Next() override;

 private:
  /// Appends to `piece` what of the current part still has room in it.
  absl::Status Fill(std::string& piece);

  const std::vector<BodyPart> parts_;
  const std::shared_ptr<void> held_;
  int64_t bytes_ = 0;
  size_t part_ = 0;
  int64_t read_ = 0;  // of the part's bytes in its file
  std::optional<viewer::InputFile> file_;
};

/// `count` bytes of these from `first` on.
std::vector<BodyPart> Cut(const std::vector<BodyPart>& parts, int64_t first, int64_t count);

/// The parts as the answer to a GET or HEAD, all of them or the range that it asks for: 200, 206,
/// or 416. `held` is let go when the body is. They are known by what stands between the files'
/// bytes, which never change.
Response AnswerWithFiles(const Request& request, std::vector<BodyPart> parts,
                         std::shared_ptr<void> held);

/// A tar file (POSIX ustar) of these, each by its name below `folder`. Errors: INTERNAL (a file
/// cannot be looked at; a name or a size that tar has no room for).
absl::StatusOr<std::vector<BodyPart>> TarOf(const std::vector<std::filesystem::path>& files,
                                            const std::string& folder, absl::Time modified);

}  // namespace isocenter::http
