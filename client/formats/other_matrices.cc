#include "client/formats/other_matrices.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/geometry.h"

namespace isocenter::formats {
namespace {

class OtherMatrices : public FrameSource {
 public:
  OtherMatrices(std::unique_ptr<FrameSource> source, const Trajectory& trajectory)
      : source_(std::move(source)), header_(source_->header()) {
    header_.clear_trajectory();
    for (const ProjectionMatrix& matrix : trajectory) {
      *header_.mutable_matrices()->add_matrix() = wire::ToProto(matrix);
    }
  }

  const v1::AcquisitionHeader& header() const override { return header_; }
  int64_t frame_bytes() const override { return source_->frame_bytes(); }
  absl::Status Read(int64_t index, std::span<std::byte> pixels) override {
    return source_->Read(index, pixels);
  }
  float dose(int64_t index) const override { return source_->dose(index); }
  std::optional<float> phase(int64_t index) const override { return source_->phase(index); }
  std::vector<std::string> notes() const override { return source_->notes(); }

 private:
  const std::unique_ptr<FrameSource> source_;
  v1::AcquisitionHeader header_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> WithMatrices(std::unique_ptr<FrameSource> source,
                                                          const Trajectory& trajectory) {
  if (trajectory.size() != source->header().frame_count()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", trajectory.size(),
                                                   " matrices; legal is one for each of the ",
                                                   source->header().frame_count(), " frames"));
  }
  return std::make_unique<OtherMatrices>(std::move(source), trajectory);
}

}  // namespace isocenter::formats
