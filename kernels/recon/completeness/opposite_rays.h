// Whether the frames of a scan fit their matrices, by the rays that two of them see from opposite
// sides.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// What the opposite rays of a scan say. Differences: root mean square, of line integrals.
struct OppositeRaysResult {
  /// Objects that look alike from everywhere say nothing of the order of their frames: by chance
  /// frames must differ by this much (squared line integrals), and by so many times their noise.
  static constexpr double kLeastByChance = 0.02 * 0.02, kLeastOverNoise = 4;
  /// Whether frames look different from different sides. Squared differences, the second of noise.
  static bool TellsOrder(double by_chance, double noise) {
    return by_chance > kLeastByChance && by_chance > kLeastOverNoise * noise;
  }

  /// Why nothing is said; empty: judged.
  std::string not_judged;
  int64_t rays = 0;  // that two frames have seen
  /// They end between two frames, as too few end at one: of two frames' line integrals there.
  bool between_frames = false;
  double difference = 0;  // of their two line integrals
  double by_chance = 0;   // the same with the frames in random orders
  double reversed = 0;    // with the frames in reversed order
  double mirrored = 0;    // with their columns in reversed order
  double noise = 0;       // that it would have by the noise of its rays alone, at most
  /// By how much the frames' content lies along the columns' numbers from where the matrices say,
  /// the same in all frames (pixels of the detector, with its standard deviation), and the
  /// difference with that.
  double shift_px = 0, shift_sigma_px = 0;
  double shifted = 0;
  /// By what factor the arc is longer than the matrices say where frames agree best, and the
  /// difference with that: what it would be of the rays that the matrices have. 1: not looked for,
  /// as frames agree.
  double arc_factor = 1;
  double rescaled = 0;
  /// By what share of the empty beam the counts rise from the first frame to the last, everywhere
  /// by the same, where frames agree best, and the difference without that. 0: not looked for, as
  /// frames agree.
  double drift = 0;
  double undrifted = 0;

  bool tells_order() const { return TellsOrder(by_chance * by_chance, noise * noise); }
};

/// The line through the sources of two frames is a ray of both, and its line integral the same from
/// either side: where the two differ, frames do not fit their matrices (the oldest consistency
/// condition of fan beams; Natterer, The Mathematics of Computerized Tomography, 1986, III.3). A
/// turn of more than 180 degrees has such rays; on a full one each ray has its opposite. Nothing is
/// assumed of the orbit but that sources see each other's place on the detector.
///
/// A shift of all frames along their rows, as a principal point that is wrong, moves opposite rays
/// apart, which planes through two sources (kernels/calibrate/consistency) hardly see. So does an
/// arc that is longer or shorter than the matrices say, as of a motor that was faster: it turns
/// rays of the same distance from the axis against each other, which an object that is not round
/// tells. Matrices that are turned all together about the axis fit as well as the right ones: the
/// volume is turned.
///
/// An offset that rises or falls while the frames come is another share of thick rays at the one
/// side than half a turn later at the other.
///
/// Line integrals are of raw counts, or divided by the air of the calibration; offsets between
/// frames (doses) do not matter, nor does what is the same in all frames and on both sides. Keeps
/// up to 320 numbers a frame. Not thread-safe.
class OppositeRays {
 public:
  /// Of the squared difference by chance.
  static constexpr double kMostOfChance = 0.1;
  static constexpr double kMostShiftPx = 0.5;
  static constexpr double kMostDrift = 0.005;     // of the empty beam
  static constexpr double kMostArcError = 0.025;  // of the arc; coarse pixels feign 0.02

  /// `acquisition`: valid, and must outlive this.
  explicit OppositeRays(const Acquisition& acquisition);

  /// The rows of a view that Add wants, [first, first + count); none where no other frame looks at
  /// this one.
  int first_row(int view) const { return profiles_[view].first_row; }
  int rows(int view) const { return profiles_[view].rows; }
  /// A view's rows, in any order of views, each once.
  void Add(int view, std::span<const FrameRow> rows);

  /// Of the views that were added; `trajectory`: their matrices, as measured. Some milliseconds.
  OppositeRaysResult Judge(const Trajectory& trajectory) const;

 private:
  // Random orders of which chance is the mean, at most.
  static constexpr size_t kMostOrders = 8;

  /// Line integrals of a view along the line on which other sources stand.
  struct Profile {
    double start = 0, slope = 0;  // row = start + slope * column
    int first_row = 0, rows = 0;
    std::vector<float> lines;  // of binned columns; empty: not added
  };
  struct Pair {
    int first = 0, second = 0;
    double first_u = 0, second_u = 0;  // of the other's source, pixels
    double towards_next = 0;           // of the second's source, as a share of the step
  };
  /// Which frame stands at which matrix, and how.
  struct Reading {
    std::vector<int> frames;  // [view]
    bool mirrored = false;    // columns
    double shift_px = 0;
    double drift = 0;            // taken off, from the first view to the last
    std::vector<bool> left_out;  // [bin]
  };
  struct Fit {
    int64_t rays = 0;
    double difference = 0;                  // mean square
    double step_px = 0, step_sigma_px = 0;  // of the shift, towards less of it
  };

  /// Where a view sees a source, on the line that was read.
  std::optional<std::pair<double, double>> OnLine(int view, const ProjectionMatrix& matrix,
                                                  Vec3 source) const;
  std::vector<Pair> PairsOf(const Trajectory& trajectory) const;
  /// Of a frame and a place between two others.
  std::vector<Pair> PairsBetween(const Trajectory& trajectory) const;
  float BinLine(std::span<const FrameRow> rows, int bin, const Profile& profile) const;
  /// The line integral at a column, and its derivative by columns.
  std::optional<std::pair<double, double>> At(const Profile& profile, double u,
                                              const std::vector<bool>& left_out) const;
  /// Bins that stand out of their neighbours in most views, as what moves does not: a dead column
  /// has one value from both sides where columns are mirrored, and else not.
  std::vector<bool> OddBins() const;
  /// The mean difference in random orders, mean square.
  double ByChance(const std::vector<Pair>& pairs, Reading reading,
                  size_t most_orders = kMostOrders) const;
  Fit FitOf(const std::vector<Pair>& pairs, const Reading& reading) const;
  /// Arcs around the given one, of which the frames agree best with `arc_factor`. What differs is
  /// measured by what differs by chance, since other arcs have other rays.
  void FindArc(const Trajectory& trajectory, const std::vector<Pair>& pairs, const Reading& reading,
               OppositeRaysResult& result) const;
  /// What rises or falls evenly in all pixels, of which the frames agree best without it.
  void FindDrift(const std::vector<Pair>& pairs, Reading reading, OppositeRaysResult& result) const;
  /// Moves the shift to where the difference is least.
  Fit FindShift(const std::vector<Pair>& pairs, Reading& reading, Fit fit) const;
  /// Of the two values of a ray, variance of their difference: thick rays are noisier than those
  /// beside the object, and a displaced detector has opposite rays through its middle alone.
  double Noise(const std::vector<Pair>& pairs, const std::vector<bool>& left_out) const;

  const Acquisition& acquisition_;
  const int bin_, bins_;  // columns that are one here; how many there are
  const int stride_;      // of partners
  std::vector<Profile> profiles_;
};

/// That an offset drifts, as a sentence for people, where that explains best why frames do not
/// agree; else nothing.
std::optional<std::string> DriftText(const OppositeRaysResult& result);

/// What is wrong, that of a drift first, as a sentence for people; nothing where all is well or
/// cannot be told. Shifts of up to `most_shift_px` are well.
std::optional<std::string> MisfitText(const OppositeRaysResult& result,
                                      double most_shift_px = OppositeRays::kMostShiftPx);

/// Why reversed frames, or mirrored columns, would not be seen, as a sentence for people: too few
/// opposite rays, or an object that looks alike from everywhere; nothing where they would be.
std::optional<std::string> UncheckedOrderText(const OppositeRaysResult& result);

}  // namespace isocenter::recon
