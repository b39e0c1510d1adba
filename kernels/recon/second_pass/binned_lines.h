// Frames of binned pixels that scatter is estimated from.
#pragma once

#include <span>
#include <vector>

#include "kernels/base/views.h"
#include "kernels/recon/second_pass/scatter_plan.h"
#include "kernels/scatter/object.h"
#include "kernels/scatter/plane.h"

namespace isocenter::recon {

/// Of all rows of all views, [view][v][u], those at whose end the object goes on. On a displaced
/// detector the end at its wide side counts.
double ShareOfCutRows(const ScatterPlan& plan, std::span<const float> lines);

/// A binned frame as ops::RemoveScatter makes it of `cells` (none: no scatter) with the
/// acquisition's water polynomial.
void CorrectFrame(const ScatterPlan& plan, std::span<const float> lines,
                  std::span<const double> cells, std::span<float> corrected);

/// At a place of the detector (shares of its width and height): of the nearest binned pixel.
double LineAt(const ScatterPlan& plan, std::span<const float> lines, double u, double v);
/// The same, of the object and the plan's beam.
double LineThrough(const ScatterPlan& plan, const scatter::Object& object,
                   const scatter::Plane& plane, double u, double v);

/// Slices that not all views see have too little: they are divided by the share of the views that
/// see them (HU, [z][y][x] of the coarse grid), and are as the next one towards the middle where
/// that is little. `matrices`: of the frames as they are.
void EvenOutSlices(const ScatterPlan& plan, std::span<const ProjectionMatrix> matrices,
                   HostView3<float> volume);

}  // namespace isocenter::recon
