// Settings of DCMTK that are the process's.
#pragma once

namespace isocenter::dicom {

/// Before anything is sent or received. May be called again.
void ConfigureLibrary();

}  // namespace isocenter::dicom
