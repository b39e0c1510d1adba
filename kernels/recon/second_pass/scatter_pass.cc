#include "kernels/recon/second_pass/scatter_pass.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/second_pass/binned_lines.h"
#include "kernels/scatter/field.h"
#include "kernels/scatter/make_object.h"
#include "kernels/scatter/photons.h"
#include "kernels/scatter/plane.h"

namespace isocenter::recon {
namespace {

constexpr uint64_t kSeed = 1;
constexpr double kObject = 0.1;  // rays of a line integral above this meet the object

}  // namespace

std::string ToText(const ScatterFindings& found) {
  return absl::StrFormat(
      "scatter: up to %.2f of the primary, %.2f on average behind the object; %s of it "
      "scattered once; the model misses %s of the line integrals",
      found.most_ratio, found.mean_ratio, ShareText(found.first_share),
      ShareText(found.unexplained));
}

ScatterPass::ScatterPass(const ScatterPlan& plan, const ops::Registry& registry,
                         std::span<ops::Device* const> devices, int threads, Frames frames)
    : plan_(plan),
      registry_(registry),
      devices_(devices.begin(), devices.end()),
      threads_(threads),
      frames_(frames) {}

int64_t ScatterPass::FramePixels() const {
  const Detector& binned = plan_.coarse.acquisition.detector;
  return int64_t{binned.columns} * binned.rows;
}

absl::Status ScatterPass::Bin(LineStore& lines) {
  const int views = plan_.coarse.views();
  const auto matrices = lines.Matrices(0, views);
  matrices_.assign(matrices.begin(), matrices.end());
  lines_.resize(FramePixels() * views);
  threads_.ParallelFor(views, [&](int64_t view, int) {
    const HostView3<float> frame = lines.Lines(static_cast<int>(view), 1);
    BinFrame(plan_, plan_.coarse.acquisition.detector, frame,
             {&lines_[view * FramePixels()], static_cast<size_t>(FramePixels())});
  });
  const double cut = ShareOfCutRows(plan_, lines_);
  if (cut <= kMostCutRows) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%.1f %% of the detector's rows end inside of the object; legal for a correction of scatter "
      "by a model are up to %g %%: what lies beyond would scatter, too",
      100 * cut, 100 * kMostCutRows));
}

void ScatterPass::CorrectLines(int first_view, int views, std::span<float> corrected) {
  threads_.ParallelFor(views, [&](int64_t i, int) {
    const int view = first_view + static_cast<int>(i);
    const std::span<const float> lines(&lines_[view * FramePixels()], FramePixels());
    const std::vector<double> cells = images_.empty() ? std::vector<double>() : CellsAt(view);
    CorrectFrame(plan_, lines, cells, corrected.subspan(i * FramePixels(), FramePixels()));
  });
}

absl::StatusOr<bool> ScatterPass::ReconstructStep() {
  const ReconstructionPlan& coarse = plan_.coarse;
  if (reconstructor_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(reconstructor_, Reconstructor::Create(coarse, registry_, devices_));
    volume_.resize(coarse.grid.voxels());
  }
  const auto next = static_cast<size_t>(reconstructor_->next_chunk());
  const HostView3<float> volume(volume_.data(), coarse.grid.shape());
  if (next < coarse.chunks.size()) {
    const Chunk& chunk = coarse.chunks[next];
    chunk_.resize(chunk.views * FramePixels());
    CorrectLines(chunk.first_view, chunk.views, chunk_);
    std::vector<ProjectionMatrix> measured;
    for (int i = 0; i < chunk.views; ++i) {
      measured.push_back(Binned(matrices_[chunk.first_view + i], plan_));
    }
    const Detector& detector = coarse.acquisition.detector;
    const HostView3<const float> lines(chunk_.data(),
                                       {chunk.views, detector.rows, detector.columns});
    ISO_RETURN_IF_ERROR(reconstructor_->Push({.line_integrals = lines}, measured));
    return false;
  }
  ISO_ASSIGN_OR_RETURN(const bool all_started, reconstructor_->FinishStep(volume, nullptr));
  if (!all_started) return false;
  ISO_RETURN_IF_ERROR(reconstructor_->AwaitFinish());
  reconstructor_.reset();
  return true;
}

absl::Status ScatterPass::Estimate() {
  const ReconstructionPlan& coarse = plan_.coarse;
  const HostView3<float> volume(volume_.data(), coarse.grid.shape());
  EvenOutSlices(plan_, matrices_, volume);
  const scatter::Object object =
      scatter::MakeObject(coarse.grid, volume, plan_.beam, *plan_.sections);
  const bool last = ++round_ == kRounds || frames_ == Frames::kPrimary;
  // A round before the last one is there to make the next volume.
  ISO_RETURN_IF_ERROR(FollowAll(object, last ? plan_.photons : plan_.photons / 4));
  return last ? Judge(object) : absl::OkStatus();
}

absl::Status ScatterPass::FollowAll(const scatter::Object& object, int64_t photons) {
  const double scale = plan_.raw.calibration->scatter_model->scale;
  const Detector& detector = plan_.raw.detector;
  std::vector<std::vector<double>> images;
  double all = 0, first = 0;
  for (const int view : plan_.sampled) {
    ISO_ASSIGN_OR_RETURN(
        scatter::ScatterImage image,
        scatter::FollowPhotons(object, plan_.beam, *plan_.sections, matrices_[view], detector,
                               {.photons = photons,
                                .columns = plan_.columns,
                                .rows = plan_.rows,
                                .seed = kSeed,
                                .view = static_cast<uint64_t>(view)},
                               threads_, &stop_));
    for (const double value : image.all) all += value;
    for (const double value : image.first) first += value;
    scatter::Smooth(plan_.columns, plan_.rows, image.all);
    for (double& value : image.all) value *= scale;
    images.push_back(std::move(image.all));
  }
  images_ = std::move(images);
  findings_.first_share = all > 0 ? first / all : 0;
  return absl::OkStatus();
}

// On the sampled views, at the middles of cells.
absl::Status ScatterPass::Judge(const scatter::Object& object) {
  double missed = 0, measured = 0, ratios = 0;
  int64_t behind = 0, held = 0, pixels = 0;
  findings_.most_ratio = 0;
  for (size_t k = 0; k < plan_.sampled.size(); ++k) {
    const int view = plan_.sampled[k];
    const std::span<const float> lines(&lines_[view * FramePixels()], FramePixels());
    ISO_ASSIGN_OR_RETURN(const scatter::Plane plane,
                         scatter::Plane::Of(matrices_[view], plan_.raw.detector));
    for (int row = 0; row < plan_.rows; ++row) {
      for (int column = 0; column < plan_.columns; ++column) {
        const double u = (column + 0.5) / plan_.columns, v = (row + 0.5) / plan_.rows;
        const double scattered =
            frames_ == Frames::kPrimary ? 0 : images_[k][row * plan_.columns + column];
        const double arrived = std::exp(-LineAt(plan_, lines, u, v));
        const double primary = std::max(arrived - scattered, ops::kLeastUnscattered * arrived);
        held += arrived - scattered < ops::kLeastUnscattered * arrived ? 1 : 0;
        ++pixels;
        const double computed = LineThrough(plan_, object, plane, u, v);
        if (-std::log(primary) < kObject && computed < kObject) continue;
        missed += std::abs(computed + std::log(primary));
        measured += std::abs(std::log(primary));
        ratios += scattered / primary;
        ++behind;
        findings_.most_ratio = std::max(findings_.most_ratio, scattered / primary);
      }
    }
  }
  findings_.mean_ratio = behind > 0 ? ratios / static_cast<double>(behind) : 0;
  findings_.unexplained = measured > 0 ? missed / measured : 0;
  findings_.held = static_cast<double>(held) / static_cast<double>(std::max<int64_t>(1, pixels));
  if (findings_.unexplained > kMostUnexplained) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the object that scatter was computed from misses %.1f %% of the frames' line integrals; "
        "legal is up to %g %%",
        100 * findings_.unexplained, 100 * kMostUnexplained));
  }
  if (findings_.held > kMostHeldPixels) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the scatter that was computed is more than %g of what was measured in %.1f %% of the "
        "frames' area; legal is up to %g %%: the set's scatter model is not that of these frames",
        1 - ops::kLeastUnscattered, 100 * findings_.held, 100 * kMostHeldPixels));
  }
  return absl::OkStatus();
}

std::vector<double> ScatterPass::CellsAt(int view) const {
  return scatter::CellsAt(view, plan_.sampled, images_);
}

}  // namespace isocenter::recon
