"""Client of the Isocenter reconstruction service: streams X-ray frames from NumPy arrays, gets volumes back.

    import isocenter
    service = isocenter.connect("127.0.0.1:50051")
    volume = service.reconstruct(frames, matrices, pitch_mm=0.616)

Millimetres and degrees; volumes are [z][y][x] in Hounsfield units, frames [frame][row][column]. isocenter.local
reconstructs without a service. docs/python.md is the manual.
"""

from isocenter.acquisition import Acquisition
from isocenter.errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    IsocenterError,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from isocenter.events import Plane, Preview, Progress, JobWarning
from isocenter.geometry import CircularOrbit, Grid, circular_matrices
from isocenter.interchange import from_nibabel, from_sitk, to_nibabel, to_sitk
from isocenter.jobs import Job
from isocenter.service import ReconstructionWarning, Service, connect
from isocenter.stream import AcquisitionStream
from isocenter.volume import Volume

__all__ = [
    *("Aborted", "Acquisition", "AcquisitionStream", "AlreadyExists", "Cancelled", "CircularOrbit", "DataLoss", "DeadlineExceeded"),
    *("FailedPrecondition", "Grid", "Internal", "InvalidArgument", "IsocenterError", "Job", "JobWarning", "NotFound"),
    *("PermissionDenied", "Plane", "Preview", "Progress", "ReconstructionWarning", "ResourceExhausted", "Service", "Unauthenticated"),
    *("Unavailable", "Volume", "circular_matrices", "connect", "from_nibabel", "from_sitk", "to_nibabel", "to_sitk"),
]
