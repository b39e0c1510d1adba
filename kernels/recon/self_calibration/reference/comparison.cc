#include "kernels/recon/self_calibration/reference/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {
namespace {

using calibrate::EdgeImage;
using calibrate::NormalEquations;

constexpr int kPoses = 7;            // the pose, and one step of each parameter
constexpr double kPixelShare = 0.6;  // of a sigma

void Divide(EdgeImage& edges, double by) {
  for (float& edge : edges.along_u) edge = static_cast<float>(edge / by);
  for (float& edge : edges.along_v) edge = static_cast<float>(edge / by);
}

EdgeImage Slope(const EdgeImage& here, EdgeImage there, double step) {
  for (size_t pixel = 0; pixel < here.along_u.size(); ++pixel) {
    there.along_u[pixel] -= here.along_u[pixel];
    there.along_v[pixel] -= here.along_v[pixel];
  }
  Divide(there, step);
  return there;
}

}  // namespace

double PixelAtIsocenterMm(const Acquisition& acquisition) {
  const auto camera = Decompose(acquisition.trajectory.front());
  return camera.ok() ? camera->isocenter_depth_mm / camera->focal_u_px : 1;
}

absl::StatusOr<std::unique_ptr<Comparison>> Comparison::Create(
    const Acquisition& acquisition, const BinnedLines& lines, const ReferenceVolume& reference,
    const ComparisonLevel& level, const ops::Registry& registry, ops::Device& device,
    ThreadPool& threads) {
  std::unique_ptr<Comparison> made(new Comparison(acquisition, threads));
  const Acquisition fine = Binned(acquisition, lines.bins);
  const PixelBins again = BinsFor(fine, kPixelShare * level.sigma_mm);
  made->bins_ = BothBins(lines.bins, again);
  const Acquisition binned = Binned(acquisition, made->bins_);
  made->detector_ = binned.detector;
  const double pixel_mm = PixelAtIsocenterMm(binned);
  made->sigma_px_ = level.sigma_mm / pixel_mm;
  made->step_mm_ = pixel_mm / 2;
  const int all = static_cast<int>(acquisition.trajectory.size());
  const int views = level.views == 0 ? all : std::min(all, level.views);
  for (int i = 0; i < views; ++i) {
    made->views_.push_back(views == 1 ? 0 : static_cast<int>(int64_t{i} * (all - 1) / (views - 1)));
  }
  const size_t pixels = size_t(binned.detector.columns) * binned.detector.rows;
  const BinnedLines coarse = BinnedAgain(binned, lines, again);
  for (const int view : made->views_) {
    const auto from = coarse.lines.begin() + static_cast<int64_t>(view * pixels);
    made->lines_.insert(made->lines_.end(), from, from + static_cast<int64_t>(pixels));
  }
  made->reference_ = Coarser(reference, pixel_mm);
  ISO_ASSIGN_OR_RETURN(made->radiographs_, Radiographs::Create(made->reference_, binned.detector,
                                                               kMostRadiographs, registry, device));
  return made;
}

ProjectionMatrix Comparison::MatrixOf(int view, std::span<const double> six,
                                      const DetectorMove& move) const {
  const ProjectionMatrix moved = Moved(acquisition_.trajectory[view], acquisition_.detector, move);
  return Binned(InPose(moved, six), bins_);
}

EdgeImage Comparison::Edges(std::span<const float> lines) const {
  return calibrate::EdgesOf(lines, detector_.columns, detector_.rows, sigma_px_);
}

std::vector<EdgeImage> Comparison::ByShiftInMm(const EdgeImage& edges) const {
  std::vector<EdgeImage> changes = calibrate::ChangesByShift(edges);
  Divide(changes[0], detector_.pitch_u_mm);
  Divide(changes[1], detector_.pitch_v_mm);
  return changes;
}

double Comparison::CountCovered(std::span<const double> six, std::span<const DetectorMove> moves,
                                double air_mu) {
  const size_t pixels = size_t(detector_.columns) * detector_.rows;
  covered_.resize(views_.size());
  std::vector<double> inside(views_.size()), all(views_.size());
  threads_.ParallelFor(static_cast<int64_t>(views_.size()), [&](int64_t i, int) {
    const ProjectionMatrix matrix = MatrixOf(views_[i], six, moves[views_[i]]);
    const std::vector<uint8_t> covered = CoveredPixels(reference_, matrix, detector_, air_mu);
    const std::span<const float> lines = std::span(lines_).subspan(i * pixels, pixels);
    for (size_t pixel = 0; pixel < pixels; ++pixel) {
      const double line = std::max(0.0F, lines[pixel]);
      all[i] += line;
      if (covered[pixel] != 0) inside[i] += line;
    }
    covered_[i] = calibrate::WellInside(covered, detector_.columns, detector_.rows, sigma_px_);
  });
  double sum_inside = 0, sum = 0;
  for (size_t i = 0; i < all.size(); ++i) sum_inside += inside[i], sum += all[i];
  return sum > 0 ? sum_inside / sum : 0;
}

absl::StatusOr<double> Comparison::Similarity(std::span<const double> six,
                                              std::span<const DetectorMove> moves) {
  const size_t pixels = size_t(detector_.columns) * detector_.rows;
  std::vector<double> similar(views_.size());
  for (size_t first = 0; first < views_.size(); first += kMostRadiographs) {
    const size_t count = std::min<size_t>(kMostRadiographs, views_.size() - first);
    std::vector<ProjectionMatrix> matrices;
    for (size_t i = first; i < first + count; ++i) {
      matrices.push_back(MatrixOf(views_[i], six, moves[views_[i]]));
    }
    ISO_ASSIGN_OR_RETURN(const std::span<const float> drawn, radiographs_->Project(matrices));
    threads_.ParallelFor(static_cast<int64_t>(count), [&](int64_t i, int) {
      const size_t view = first + i;
      similar[view] =
          calibrate::GradientCorrelation(Edges(std::span(lines_).subspan(view * pixels, pixels)),
                                         Edges(drawn.subspan(i * pixels, pixels)), covered_[view]);
    });
  }
  double sum = 0;
  for (const double one : similar) sum += one;
  return sum / static_cast<double>(views_.size());
}

absl::StatusOr<Comparison::Equations> Comparison::Changes(Of what, std::span<const double> six,
                                                          std::span<const DetectorMove> moves) {
  const size_t pixels = size_t(detector_.columns) * detector_.rows;
  const size_t poses = what == Of::kShift ? 1 : kPoses;
  const size_t most = kMostRadiographs / poses;
  std::vector<double> similar(views_.size());
  Equations found{.of_views = std::vector<NormalEquations>(views_.size())};
  for (size_t first = 0; first < views_.size(); first += most) {
    const size_t count = std::min(most, views_.size() - first);
    std::vector<ProjectionMatrix> matrices;
    for (size_t i = first; i < first + count; ++i) {
      for (size_t pose = 0; pose < poses; ++pose) {
        std::vector<double> stepped(six.begin(), six.end());
        if (pose > 0) stepped[pose - 1] += step_mm_;
        matrices.push_back(MatrixOf(views_[i], stepped, moves[views_[i]]));
      }
    }
    ISO_ASSIGN_OR_RETURN(const std::span<const float> drawn, radiographs_->Project(matrices));
    threads_.ParallelFor(static_cast<int64_t>(count), [&](int64_t i, int) {
      const size_t view = first + i;
      const std::span<const float> of_view = drawn.subspan(i * poses * pixels, poses * pixels);
      const EdgeImage measured = Edges(std::span(lines_).subspan(view * pixels, pixels));
      const EdgeImage computed = Edges(of_view.first(pixels));
      std::vector<EdgeImage> changes;
      for (size_t pose = 1; pose < poses; ++pose) {
        changes.push_back(Slope(computed, Edges(of_view.subspan(pose * pixels, pixels)), step_mm_));
      }
      if (what != Of::kPose) {
        for (EdgeImage& change : ByShiftInMm(computed)) changes.push_back(std::move(change));
      }
      similar[view] = calibrate::GradientCorrelation(measured, computed, covered_[view]);
      found.of_views[view] = calibrate::Compare(measured, computed, changes, covered_[view]);
    });
  }
  for (const double one : similar) found.similarity += one / static_cast<double>(views_.size());
  return found;
}

}  // namespace isocenter::recon
