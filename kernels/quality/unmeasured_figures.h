// Which of a phantom's figures a scan did not give, and why.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/geometry/phantom_tables/module_table.h"
#include "kernels/quality/phantom_study.h"

namespace isocenter::quality {

/// The names that MeasuresOf has of a scan that shows all of the phantom.
std::vector<std::string> FigureNames(const QualityPhantom& phantom);

/// Every figure that the phantom defines and MeasuresOf(study) does not have, by its name there,
/// with the reason: that of its part of the study (`study.unmeasured`, by parts as StudyPhantom
/// notes them), or that its curve does not fall as far below the voxels' Nyquist frequency. Parts
/// without a figure, as the wire, follow by their own names.
std::vector<std::pair<std::string, std::string>> UnmeasuredFigures(const QualityPhantom& phantom,
                                                                   const PhantomStudy& study);

}  // namespace isocenter::quality
