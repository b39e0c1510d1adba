#include "client/cli/options/acquisition_flags.h"

#include <cstdio>
#include <string>
#include <vector>

#include "client/cli/output/warnings.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/acquisition_input.h"
#include "client/formats/other_matrices.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::cli {

flags::Option AddAcquisitionFlags(flags::Command command, AcquisitionFlags& flags) {
  command
      .Add("input", flags.input,
           "bundle directory, RTK geometry .xml (with --projections), .rct of line integrals, or a "
           "rotational DICOM XA run")
      .Required()
      .Type("INPUT");
  command
      .Add("--projections", flags.projections,
           "projections of an RTK geometry (.mha or .mhd), or the measured matrices of a "
           "DICOM XA run (.csv)")
      .Type("FILE");
  command
      .Add("--matrices", flags.matrices,
           "matrices in place of the input's own (.csv), as `isocenter calibrate geometry` writes "
           "them")
      .Type("FILE");
  command
      .Add("--i0", flags.i0,
           "counts of an unattenuated pixel (default: of RTK projections 65535, of a DICOM "
           "XA run the largest that it can hold; others say it themselves)")
      .Range(1.0, 65535.0);
  flags::Option grid =
      command.Add("--grid", flags.grid, "voxels of the volume, centred at the isocentre");
  grid.Type("NXxNYxNZ").Separator('x').Count(3).Range(1, 4096);
  command.Add("--voxel-mm", flags.voxel_mm, "voxel size of --grid").Range(0.0001, 100.0);
  return grid;
}

absl::StatusOr<std::unique_ptr<formats::FrameSource>> OpenAcquisition(
    const AcquisitionFlags& flags) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<formats::FrameSource> source,
                       formats::OpenAcquisition(flags.input, flags.projections, flags.i0));
  for (const std::string& note : source->notes()) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (!flags.matrices.empty()) {
    ISO_ASSIGN_OR_RETURN(const Trajectory trajectory, ReadTrajectoryCsv(flags.matrices));
    ISO_ASSIGN_OR_RETURN(source,
                         formats::WithMatrices(std::move(source), trajectory, flags.matrices));
  }
  PrintWarnings(source->warnings());
  return source;
}

absl::StatusOr<std::optional<VolumeGrid>> ChosenGrid(const AcquisitionFlags& flags) {
  if (flags.grid.empty() != (flags.voxel_mm == 0)) {
    return flags::WrongUsage("--grid and --voxel-mm must be given together");
  }
  if (flags.grid.empty()) return std::nullopt;
  const double s = flags.voxel_mm;
  return CenteredGrid(flags.grid[0], flags.grid[1], flags.grid[2], {s, s, s});
}

}  // namespace isocenter::cli
