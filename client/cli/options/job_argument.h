// JOB, of the commands that are about one.
#pragma once

#include <string>

#include "client/flags/command.h"

namespace isocenter::cli {

inline flags::Option AddJobArgument(flags::Command command, std::string& job_id) {
  return command
      .Add("job", job_id,
           "id of a job, which `isocenter stream` and `isocenter jobs` show; JOB-ref is the "
           "refinement that JOB's protocol asked for, JOB-sub the subtraction of a pair")
      .Type("JOB");
}

}  // namespace isocenter::cli
