#include "client/formats/other_matrices.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/geometry/orbits/trajectory_alignment.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/geometry.h"

namespace isocenter::formats {
namespace {

class OtherMatrices : public FrameSource {
 public:
  OtherMatrices(std::unique_ptr<FrameSource> source, const Trajectory& trajectory,
                std::vector<std::string> warnings)
      : source_(std::move(source)), header_(source_->header()), warnings_(std::move(warnings)) {
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
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  const std::unique_ptr<FrameSource> source_;
  v1::AcquisitionHeader header_;
  const std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> OtherMatricesDoubts(const Trajectory& own, const Trajectory& trajectory,
                                             const std::string& name) {
  const absl::StatusOr<TrajectoryAlignment> alignment = Align(own, trajectory);
  if (!alignment.ok())
    return {};  // matrices that nobody can decompose are refused where they count
  std::vector<std::string> doubts = Misalignments(*alignment, "the acquisition's own");
  for (std::string& doubt : doubts) {
    doubt = absl::StrCat("the matrices of ", name, " ", doubt,
                         "; which of the two is right no frame shows. Was the table of balls "
                         "right, and did the phantom stand as the patient's frame is?");
  }
  if (const auto focal = FocalMisfit(*alignment, "the acquisition's own")) {
    doubts.push_back(absl::StrCat("the matrices of ", name, " ", *focal,
                                  "; which of the two is right no frame shows. Were they measured "
                                  "at the distance, and with the pixels, of this acquisition?"));
  }
  return doubts;
}

absl::StatusOr<std::unique_ptr<FrameSource>> WithMatrices(std::unique_ptr<FrameSource> source,
                                                          const Trajectory& trajectory,
                                                          const std::string& name) {
  if (trajectory.size() != source->header().frame_count()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", trajectory.size(),
                                                   " matrices; legal is one for each of the ",
                                                   source->header().frame_count(), " frames"));
  }
  std::vector<std::string> warnings = source->warnings();
  // An acquisition may have none of its own, for which these are.
  if (const auto own = wire::AcquisitionFromProto(source->header()); own.ok()) {
    for (std::string& doubt : OtherMatricesDoubts(own->trajectory, trajectory, name)) {
      warnings.push_back(std::move(doubt));
    }
  }
  return std::make_unique<OtherMatrices>(std::move(source), trajectory, std::move(warnings));
}

}  // namespace isocenter::formats
