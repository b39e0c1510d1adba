// What a service tells of a job's volume, as files of volumes have it.
#pragma once

#include "client/formats/facts/volume_facts.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// The tube voltage and the filter are not told; nor the frames: the same ones as another job, at
/// another node, give the same file.
formats::VolumeFacts JobFacts(const v1::Job& job);

/// The job whose frames a job's volume is made of: its own, or those it refines.
const std::string& FramesJob(const v1::Job& job);

}  // namespace isocenter::cli
