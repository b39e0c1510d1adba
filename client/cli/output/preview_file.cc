#include "client/cli/output/preview_file.h"

#include <utility>

#include "client/formats/destination.h"
#include "client/imaging/preview_image.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

// From air to bone: what a volume holds before all frames are in has no right contrast anyway.
constexpr imaging::Window kWindow{.center = 0, .width = 2000};

absl::Status Write(const std::filesystem::path& path, const v1::Preview& preview) {
  ISO_ASSIGN_OR_RETURN(const formats::GrayImage image, imaging::PreviewImage(preview, kWindow));
  return formats::WritePng(path, image);
}

}  // namespace

absl::Status CheckPreviewFile(const std::filesystem::path& path) {
  if (path.empty()) return absl::OkStatus();
  return formats::CheckFileDestination({.flag = "--preview", .path = path, .endings = {".png"}});
}

PreviewFile::PreviewFile(std::filesystem::path path) : path_(std::move(path)) {
  if (!path_.empty()) thread_ = std::thread([this] { Run(); });
}

PreviewFile::~PreviewFile() { Close().IgnoreError(); }

void PreviewFile::Show(const v1::Preview& preview) {
  if (path_.empty()) return;
  absl::MutexLock lock(&mutex_);
  waiting_ = preview;
}

absl::Status PreviewFile::Close() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  if (thread_.joinable()) thread_.join();
  absl::MutexLock lock(&mutex_);
  return status_;
}

void PreviewFile::Run() {
  for (;;) {
    std::optional<v1::Preview> preview;
    {
      absl::MutexLock lock(&mutex_);
      const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return waiting_.has_value() || closed_;
      };
      mutex_.Await(absl::Condition(&woken));
      if (!waiting_) return;
      preview = std::exchange(waiting_, std::nullopt);
    }
    const absl::Status status = Write(path_, *preview);
    absl::MutexLock lock(&mutex_);
    status_.Update(status);
  }
}

}  // namespace isocenter::cli
