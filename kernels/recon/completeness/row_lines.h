// Mean line integrals of pieces of a frame's rows, of raw counts too.
#pragma once

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// As it was sent: counts, or a line integral.
double PixelValue(const Acquisition& acquisition, const FrameRow& row, int column);

/// What some pixels of a frame say together; sums of several pieces can be added.
struct RowSum {
  double sum = 0, air = 0;  // counts above offsets and those of air, or line integrals
  int used = 0;
};

/// How many columns at either side of a detector are looked at for what its rows end with: one may
/// be dead, and a few are as good as one where the object's edge is not.
int OutermostColumns(const Detector& detector);

/// Columns [first, first + count) of a row, or each `step`-th of them. Left out are defects of the
/// calibration, counts of 0 (dead, or so thick that it is as good as) and line integrals beyond
/// ops::kLongestLineIntegral.
RowSum SumOf(const Acquisition& acquisition, const FrameRow& row, int first_column, int count,
             int step = 1);

/// The mean line integral, with counts relative to the air of the calibration or the declared
/// intensity, times `dose` where that is not 0; 0 where no pixel was used.
double LineOf(const Acquisition& acquisition, const RowSum& sum, double dose);

}  // namespace isocenter::recon
