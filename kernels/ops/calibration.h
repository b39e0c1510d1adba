// What corrections know of one detector and its beam. All of it is measured, none has a default: no
// number of a device is one of all devices. kernels/ops/corrections.h says what is made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/geometry/detector.h"

namespace isocenter::ops {

/// How each pixel answers, [v][u]. Source: the linear case of Kwan, Seibert, Boone, Med. Phys. 33
/// (2006) 178.
struct PixelResponse {
  std::vector<float> offset_counts;  // what it reads in the dark; 0 to 65535
  std::vector<float> air_counts;     // above that, in an empty beam of dose 1; 1 to 65535
  /// The least reading of an overexposed pixel, which says no more than that there was as much: 1
  /// to 65535; 0: not known, nothing is held to be overexposed.
  double full_scale_counts = 0;
};

/// Pixels that tell nothing: v·columns + u, ascending.
struct DefectMap {
  std::vector<int32_t> pixels;
};
/// Good neighbours of a defective pixel are looked for this far (pixels).
inline constexpr int kDefectReach = 16;

/// A pixel keeps `share` of its charge back and gives away `release` of what it keeps with each
/// frame: one falling exponential of a sum whose steady answer is 1 (Hsieh et al., Proc. SPIE 3977
/// (2000) 190). Shares are 0 to 0.5 and 0.9 at most together, releases 1e-6 to 1.
struct LagTerm {
  double share = 0, release = 1;
};
inline constexpr int kMostLagTerms = 8;

/// A share of what falls onto a pixel that spreads as a normalised Gaussian. Shares are 0 to 0.5
/// and 0.5 at most together, sigmas 0.1 to 1000.
struct SpreadTerm {
  double share = 0, sigma_mm = 1;
};
inline constexpr int kMostSpreadTerms = 6;

/// Side of the tiles of pixels whose means are compared.
inline constexpr int kAirTile = 16;
/// Where a frame sees the empty beam: so many columns at each side.
struct AirStrips {
  int columns = 0;  // 16 to half of the detector's
};

/// What the empty beam has in each block of kAirTile x kAirTile pixels when the source is at an
/// angle about the rotation axis, relative to the response's air: focus, arm and filter that give
/// way as the arm turns. Linear between angles and between the middles of blocks, constant beyond
/// the outermost ones. Empty: the same from everywhere.
struct AirSweep {
  /// Ascending from the first, the last less than a turn and a degree behind it; -4π to 4π.
  std::vector<double> angles;
  /// [angle][row of blocks][column of blocks], the last ones of fewer pixels; 0.2 to 5.
  std::vector<float> relative;

  static int Blocks(int pixels) { return (pixels + kAirTile - 1) / kAirTile; }
};
inline constexpr int kMostAirAngles = 720;
/// Neighbouring angles are this near (degrees): what lies between them is known.
inline constexpr double kMostAirStepDeg = 15;

/// Kernels of fast adaptive scatter-kernel superposition (Sun, Star-Lack, Phys. Med. Biol. 55
/// (2010) 6695): of a pencil beam through water, by its thickness.
struct ScatterKernels {
  struct Group {
    double from_mm = 0;  // water that the group begins with; the first one's is 0, then ascending
    /// Scattered per unattenuated photon: amplitude · P^alpha · (-ln P)^beta behind P of 1.
    double amplitude = 0;  // 0 to 10
    double alpha = 1;      // -2 to 2
    double beta = 1;       // 0 to 4
    /// The kernel: (1 - wide_share) N(narrow) + wide_share N(wide), N a normalised Gaussian.
    double narrow_sigma_mm = 1, wide_sigma_mm = 1;  // 1 to 1000
    double wide_share = 0;                          // 0 to 1
  };
  std::vector<Group> groups;   // 1 to 8
  double mu_water_per_mm = 0;  // what thickness is computed with; 0.001 to 0.1
  /// By how much a kernel falls with the difference of thickness between where it is scattered and
  /// where it arrives: 1 - gamma·(t(arrives) - t(scattered)). 0 to 0.1.
  double gamma_per_mm = 0;
  /// The thickest water that they were fitted to (mm); beyond it they go on as the last group does.
  /// 0 to kMostFittedMm; 0: not known, or stated and not fitted.
  double thickest_mm = 0;
};
inline constexpr int kMostScatterGroups = 8;
inline constexpr double kMostFittedMm = 2000;

/// How much of the scatter that is computed from a volume (kernels/scatter) the detector sees, of
/// that of a screen without a grid that answers to all directions alike.
struct ScatterModel {
  double scale = 1;  // 0.01 to 10
};

/// p -> Q(p) = Σ coefficient[n]·p^(n+1): the line integral that water would give at one energy
/// (Kachelriess, Sourbelle, Kalender, Med. Phys. 33 (2006) 1269). 1 to 6 coefficients; it ascends
/// from 0 to kLongestLineIntegral. A filter that is thicker for some columns (a bow-tie) hardens
/// their beam as water in front of them would: in column u, p -> Q(p + h[u]) - Q(h[u]).
struct WaterPolynomial {
  std::vector<double> coefficient;
  /// h, of each of the detector's columns, 0 to kMostHardness; empty: 0. Only with coefficients.
  std::vector<float> hardness;
  /// The thickest water that it was fitted to (mm), with what the hardness of its column stands
  /// for; beyond it is extrapolated. 0 to kMostFittedMm; 0: not known.
  double thickest_mm = 0;
};
inline constexpr double kMostHardness = 4;
inline constexpr double kLongestLineIntegral = 12;

/// One of a set's parts, named as the field of the set that it is kept in, and what it was like.
struct PartChecksum {
  std::string part;     // 1 to 64 characters
  uint32_t crc32c = 0;  // of its numbers (kernels/ops/calibration_scope.h)
  friend bool operator==(const PartChecksum&, const PartChecksum&) = default;
};
inline constexpr int kMostTableParts = 16;

/// From what is reconstructed, in HU after all other corrections, to what is true: linear between
/// the points, and beyond them as between the outermost two. 2 to 32 points, ascending in both, or
/// none; -1100 to 30000.
struct HounsfieldTable {
  struct Point {
    double measured_hu = 0, true_hu = 0;
  };
  std::vector<Point> points;
  /// The parts that had corrected the volume that it was measured in, at most kMostTableParts;
  /// unset: not known.
  std::optional<std::vector<PartChecksum>> made_with;
};

/// What bone adds to a line integral: a line integral p that the water polynomial has made, of a
/// ray through b mm of bone, lacks so much of what it would be at the polynomial's energy. On a
/// grid of b and p, from 0 on in equal steps. After Joseph, Spital, J. Comput. Assist. Tomogr. 2
/// (1978) 100.
struct BoneTable {
  int line_integrals = 0, bones = 0;  // points along each; 2 to kMostBonePoints
  double most_line_integral = 0;      // of the last point; 0.1 to 2 kLongestLineIntegral
  double most_bone_mm = 0;            // 1 to 1000
  /// [bone][line integral], 0 without bone; p + added ascends with p.
  std::vector<double> added;
  /// A voxel of the first volume is bone by (HU - from_hu) / (full_hu - from_hu), the bone that the
  /// table was made for being 1. -200 to 1000; at least kLeastBoneSpanHu more, at most kMostBoneHu.
  double from_hu = 0, full_hu = 0;
};
inline constexpr int kMostBonePoints = 64;
inline constexpr double kLeastBoneSpanHu = 100, kMostBoneHu = 5000;

/// All that was measured of one detector and its beam. What is empty was not, and nothing is
/// corrected for it; without a response, frames are normalized by an acquisition's i0 alone.
struct Calibration {
  std::string name;  // for records
  Detector detector;
  std::optional<PixelResponse> response;
  DefectMap defects;
  std::vector<LagTerm> lag;
  std::vector<SpreadTerm> glare;
  AirStrips air;
  AirSweep air_sweep;
  std::optional<ScatterKernels> scatter;
  std::optional<ScatterModel> scatter_model;
  WaterPolynomial water;
  double mu_water_per_mm = 0;  // at the polynomial's energy; 0.001 to 0.1, or 0: not known
  HounsfieldTable hounsfield;
  std::optional<BoneTable> bone;
};

/// Errors: INVALID_ARGUMENT with the field, its value and what is legal, for the first that is
/// wrong. Maps have the detector's pixels.
absl::Status CheckPixelResponse(const PixelResponse& response, const Detector& detector);
/// Also for a pixel that has no good pixel within kDefectReach along its row, its column or a
/// diagonal.
absl::Status CheckDefectMap(const DefectMap& defects, const Detector& detector);
absl::Status CheckLag(const std::vector<LagTerm>& lag);
absl::Status CheckSpread(const std::vector<SpreadTerm>& spread);
absl::Status CheckAirStrips(const AirStrips& air, const Detector& detector);
absl::Status CheckAirSweep(const AirSweep& sweep, const Detector& detector);
absl::Status CheckScatterKernels(const ScatterKernels& kernels);
absl::Status CheckScatterModel(const ScatterModel& model);
absl::Status CheckWaterPolynomial(const WaterPolynomial& polynomial);
absl::Status CheckHardness(const WaterPolynomial& polynomial, const Detector& detector);
absl::Status CheckHounsfieldTable(const HounsfieldTable& table);
absl::Status CheckBoneTable(const BoneTable& table);
/// All of them that are there.
absl::Status CheckCalibration(const Calibration& calibration);

}  // namespace isocenter::ops
