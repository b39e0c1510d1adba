// Pictures of what was calibrated, for people who accept it.
#pragma once

#include <vector>

#include "client/formats/png_image.h"
#include "kernels/calibrate/air_fit.h"
#include "kernels/calibrate/bone_fit.h"
#include "kernels/calibrate/detector_fit.h"
#include "kernels/calibrate/geometry/geometry_fit.h"
#include "kernels/calibrate/glare_fit.h"
#include "kernels/calibrate/hounsfield_fit.h"
#include "kernels/calibrate/lag_fit.h"
#include "kernels/calibrate/scatter/constant_fraction.h"
#include "kernels/calibrate/scatter/scatter_fit.h"
#include "kernels/calibrate/scatter/scatter_model_fit.h"
#include "kernels/calibrate/water/water_fit.h"
#include "kernels/quality/water_cylinder.h"

namespace isocenter::cli {

/// Side by side, with the numbers of columns and rows: the air map, ±15 % around its median, with
/// the counts of its greys, and the defects in black, each pixel of the picture as dark as the
/// worst of those that it stands for, with a scale in mm.
formats::GrayImage PictureOf(const calibrate::DetectorFit& fit, const Detector& detector);
/// By the source's angle, in % of the air map: the middle of the detector, and its first columns.
formats::GrayImage PictureOf(const calibrate::AirSweepFit& fit, const Detector& detector);
/// The dark frames' signal before and after, in % of the beam.
formats::GrayImage PictureOf(const calibrate::LagFit& fit, std::span<const double> signals);
/// Along a row of blocks through the shadow: the frame, and what the fit leaves of it, in % of the
/// beam.
formats::GrayImage PictureOf(const calibrate::GlareFit& fit);
/// Line integrals by millimetres of water, and what the polynomial leaves of them.
formats::GrayImage PictureOf(const calibrate::WaterFit& fit);
/// What line integrals of steps lack, by millimetres of bone, without the table and with it.
formats::GrayImage PictureOf(const calibrate::BoneFit& fit,
                             const std::vector<calibrate::BoneStep>& steps);
/// Along the middle row of blocks of the view: its scatter, and what the kernels make of it.
formats::GrayImage PictureOf(const calibrate::ScatterFit& fit, const calibrate::ScatterView& view,
                             const calibrate::CoarseShape& shape);
/// Scatter by millimetres of water, in % of the primary: a step.
formats::GrayImage PictureOfFraction(double fraction);
/// Residuals of each frame, and how the source's distance from the origin and its height along z go
/// over the sweep.
formats::GrayImage PictureOf(const calibrate::GeometryFit& fit);
/// Along the middle row of cells, `pitch_mm` wide: the view's scatter, and what the model misses.
formats::GrayImage PictureOf(const calibrate::ScatterModelFit& fit,
                             const calibrate::ModelledView& view, int columns, int rows,
                             double pitch_mm);
/// True HU by measured ones.
formats::GrayImage PictureOf(const calibrate::HounsfieldFit& fit);
/// HU by the distance from the cylinder's axis: of the water, and beyond its border.
formats::GrayImage PictureOf(const quality::WaterCylinder& seen);

}  // namespace isocenter::cli
