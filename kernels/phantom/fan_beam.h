// Fan-beam scans of phantoms.
#pragma once

#include <memory>

#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/fan_beam.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {

/// Line integrals of the phantom's plane at `z_mm`, exact chords. A channel is as wide as the
/// distance to the next one and measures the mean of `subsamples` rays across it (1: its middle
/// alone). out: {views, 1, channels}. The geometry is legal.
void ProjectFanBeam(const Phantom& phantom, const FanBeamGeometry& geometry, double z_mm,
                    int subsamples, ThreadPool& pool, HostView3<float> out);

/// Four rods of 25 mm in a cylinder of 200 mm, as of an accreditation phantom: bone, polyethylene,
/// acrylic and air with middles at (±45, ±45) mm: upper left, upper right, lower right,
/// lower left; the cylinder's plastic attenuates as water.
std::unique_ptr<Phantom> MakeRodPhantom(double mu_water_per_mm);

}  // namespace isocenter::phantom
