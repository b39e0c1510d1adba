#include "kernels/recon/motion/matrix_model.h"

#include <algorithm>
#include <cmath>

namespace isocenter::recon {

FrameSpline::FrameSpline(int frames, int spans) : spans_(spans), frames_(frames) {
  if (spans == 0) return;
  for (int frame = 0; frame < frames; ++frame) {
    const double at = frames == 1 ? 0 : double(frame) * spans / (frames - 1);
    Place& place = frames_[frame];
    place.first = std::min(static_cast<int>(at), spans - 1);
    const double t = at - place.first, s = 1 - t;
    place.weight[0] = s * s * s / 6;
    place.weight[1] = (3 * t * t * t - 6 * t * t + 4) / 6;
    place.weight[2] = (3 * s * s * s - 6 * s * s + 4) / 6;
    place.weight[3] = t * t * t / 6;
  }
}

void FrameSpline::Evaluate(std::span<const double> of_controls, int each,
                           std::span<double> of_frames) const {
  const int count = std::min(4, controls());
  for (size_t frame = 0; frame < frames_.size(); ++frame) {
    const Place& place = frames_[frame];
    for (int p = 0; p < each; ++p) {
      double sum = 0;
      for (int k = 0; k < count; ++k) {
        sum += place.weight[k] * of_controls[size_t(place.first + k) * each + p];
      }
      of_frames[frame * each + p] = sum;
    }
  }
}

void FrameSpline::Gather(std::span<const double> of_frames, int each,
                         std::span<double> of_controls) const {
  std::fill(of_controls.begin(), of_controls.end(), 0.0);
  const int count = std::min(4, controls());
  for (size_t frame = 0; frame < frames_.size(); ++frame) {
    const Place& place = frames_[frame];
    for (int k = 0; k < count; ++k) {
      for (int p = 0; p < each; ++p) {
        of_controls[size_t(place.first + k) * each + p] +=
            place.weight[k] * of_frames[frame * each + p];
      }
    }
  }
}

FrameSpline FineSpline(int frames) {
  constexpr int kMostSpans = 64, kFramesOfASpan = 2;
  return {frames, std::min(kMostSpans, frames / kFramesOfASpan)};
}

std::vector<double> CurvesOf(int views, const FrameSpline& spline) {
  const int controls = spline.controls();
  std::vector<double> curves(size_t(views) * controls), of_frames(views);
  for (int control = 0; control < controls; ++control) {
    std::vector<double> one(controls, 0.0);
    one[control] = 1;
    spline.Evaluate(one, 1, of_frames);
    for (int view = 0; view < views; ++view) {
      curves[size_t(view) * controls + control] = of_frames[view];
    }
  }
  return curves;
}

std::vector<double> WithTwiceTheSpans(std::span<const double> of_controls, int each, int spans) {
  const auto old = [&](int control, int p) { return of_controls[size_t(control) * each + p]; };
  std::vector<double> made;
  for (int i = 0; i + 1 < spans + 3; ++i) {
    for (int p = 0; p < each; ++p) made.push_back((old(i, p) + old(i + 1, p)) / 2);
    if (i + 2 == spans + 3) break;
    for (int p = 0; p < each; ++p) {
      made.push_back((old(i, p) + 6 * old(i + 1, p) + old(i + 2, p)) / 8);
    }
  }
  return made;
}

RigidPose PoseFrom(std::span<const double> six) {
  return {.turn_rad = {six[3] / kLeverMm, six[4] / kLeverMm, six[5] / kLeverMm},
          .shift_mm = {six[0], six[1], six[2]}};
}

std::vector<double> ParametersOf(const RigidPose& pose) {
  const Vec3 turn = kLeverMm * pose.turn_rad;
  return {pose.shift_mm.x, pose.shift_mm.y, pose.shift_mm.z, turn.x, turn.y, turn.z};
}

ProjectionMatrix InPose(const ProjectionMatrix& matrix, std::span<const double> six) {
  return Times(matrix, TransformOf(PoseFrom(six)));
}

// P·T = (M·R | M·t + p₄): dE/dt = Mᵀ·d₄ and dE/dR = Mᵀ·D. R changes with its rotation vector θ as
// dR = [J·dθ]× R, J = 1 + b [θ]× + c [θ]×², b = (1 - cos|θ|) / |θ|², c = (|θ| - sin|θ|) / |θ|³.
void PullToPose(const ProjectionMatrix& matrix, std::span<const double> six,
                const ops::MatrixSlope& slope, std::span<double> gradient) {
  const RigidPose pose = PoseFrom(six);
  const RigidTransform transform = TransformOf(pose);
  double by_rotation[3][3];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      by_rotation[i][j] = 0;
      for (int k = 0; k < 3; ++k) by_rotation[i][j] += matrix(k, i) * slope[4 * k + j];
    }
    gradient[i] = 0;
    for (int k = 0; k < 3; ++k) gradient[i] += matrix(k, i) * slope[4 * k + 3];
  }
  double b[3][3];  // dE/dR · Rᵀ
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      b[i][j] = 0;
      for (int k = 0; k < 3; ++k) b[i][j] += by_rotation[i][k] * transform.rotation[3 * j + k];
    }
  }
  const Vec3 axial{b[2][1] - b[1][2], b[0][2] - b[2][0], b[1][0] - b[0][1]};
  const Vec3 t = pose.turn_rad;
  const double angle = Norm(t), square = angle * angle;
  const double half = angle < 1e-4 ? 0.5 - square / 24 : (1 - std::cos(angle)) / square;
  const double sixth =
      angle < 1e-4 ? 1.0 / 6 - square / 120 : (angle - std::sin(angle)) / (square * angle);
  const Vec3 once = Cross(t, axial);
  const Vec3 by_turn = axial - half * once + sixth * Cross(t, once);  // Jᵀ·axial
  gradient[3] = by_turn.x / kLeverMm;
  gradient[4] = by_turn.y / kLeverMm;
  gradient[5] = by_turn.z / kLeverMm;
}

}  // namespace isocenter::recon
