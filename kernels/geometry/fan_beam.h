// Two-dimensional fan-beam scans: a source on a circle, a row of channels opposite to it.
#pragma once

#include <span>

#include "absl/status/status.h"

namespace isocenter {

/// A source at distance D from the axis sees a row of channels that turn with it. At the angle β
/// the source is at D·(-sin β, cos β); a point (x, y) of the plane is, in the frame of the view, x'
/// = x cos β + y sin β, y' = y cos β - x sin β, and is seen at the fan angle γ = atan2(x', D - y').
/// Source: Kak & Slaney, Principles of Computerized Tomographic Imaging (1988), 3.4.
struct FanBeamGeometry {
  enum class Detector {
    kArc,   // around the source: channels at equal fan angles
    kFlat,  // perpendicular to the central ray: channels at equal distances
  };
  Detector detector = Detector::kArc;
  double source_to_axis_mm = 0;      // D
  double source_to_detector_mm = 0;  // kFlat; not used for arcs
  int channels = 0;
  double channel_angle = 0;     // kArc: Δγ, radians
  double channel_pitch_mm = 0;  // kFlat: on the detector
  /// Where the ray through the axis falls, in channels: (channels - 1) / 2 for one that is
  /// centered, 0.25 more or less for a quarter-channel offset.
  double central_channel = 0;
  int views = 0;
  double first_angle = 0;  // β of view 0, radians
  /// Radians, positive or negative as β grows or falls: view i is at first_angle + i·arc/views, and
  /// stands for half a step on either side.
  double arc = 0;

  double AngularStep() const { return arc / views; }
  double Angle(double view) const { return first_angle + view * AngularStep(); }
  /// Distance of neighboring channels, mm: flat detectors scaled to the axis, arcs D·Δγ.
  double ChannelAtAxisMm() const;
  /// Fan angle of a position on the detector, radians.
  double FanAngle(double channel) const;
  /// Tangent of the largest fan angle of a channel's middle, over both sides.
  double LargestTangent() const;
  /// Whether all lines are measured twice.
  bool FullScan() const;
  friend bool operator==(const FanBeamGeometry&, const FanBeamGeometry&) = default;
};

/// INVALID_ARGUMENT, naming the field: source_to_axis_mm outside 0.001..100000; a flat detector
/// with source_to_detector_mm outside of that or channel_pitch_mm outside 1e-6..1000; channels
/// outside 2..65536; an arc with channel_angle outside 1e-7..0.1; fan angles above 60° on a side;
/// central_channel further than 1 + channels/20 from the middle, beyond which lines on one side
/// would count half; views outside 4..65536; |first_angle| above 1000; |arc| below π plus the fan
/// angle or above 2π.
absl::Status ValidateFanBeam(const FanBeamGeometry& geometry);

/// Radius around the axis, mm, in which every view sees every point: up to the middle of the outer
/// channel on the nearer side.
double FanBeamFieldOfViewRadius(const FanBeamGeometry& geometry);

/// What a line counts, of each channel of a view, dimensionless: 1/2 on a full scan, which measures
/// every line twice; on a short one Parker's weights (Med. Phys. 9 (1982) 254) with half the
/// overscan in place of the fan angle (Silver, Med. Phys. 27 (2000) 773), so that conjugate rays
/// add up to 1.
void FanBeamRedundancy(const FanBeamGeometry& geometry, int view, std::span<double> weights);

}  // namespace isocenter
