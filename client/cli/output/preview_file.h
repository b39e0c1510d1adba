// --preview FILE: the latest preview of a job as a PNG.
#pragma once

#include <filesystem>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// Whether what --preview names can be written; an empty path: there is none. Errors: those of
/// formats::CheckFileDestination.
absl::Status CheckPreviewFile(const std::filesystem::path& path);

/// Writes in a thread of its own, so that a slow disk holds up no stream; previews that come faster
/// than they are written are left out, but for the last. A reader of the file sees a whole one.
class PreviewFile {
 public:
  /// An empty path: nothing is written.
  explicit PreviewFile(std::filesystem::path path);
  /// As Close.
  ~PreviewFile();
  PreviewFile(const PreviewFile&) = delete;
  PreviewFile& operator=(const PreviewFile&) = delete;

  /// Thread-safe.
  void Show(const v1::Preview& preview) ABSL_LOCKS_EXCLUDED(mutex_);
  /// Writes what waits. Returns the first error that a preview met, as WritePng and PreviewImage.
  absl::Status Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::filesystem::path path_;
  absl::Mutex mutex_;
  std::optional<v1::Preview> waiting_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace isocenter::cli
