"""The first volume: first_volume.py [HOST:PORT [FILE.nii.gz]]"""

import sys

import disc
import isocenter

orbit = isocenter.CircularOrbit(source_to_isocenter_mm=750, source_to_detector_mm=1200, arc_deg=356)
frames = disc.scan(orbit)

service = isocenter.connect(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051")
volume = service.reconstruct(frames, orbit, pitch_mm=3.0, grid=isocenter.Grid.cube(128, 1.5))
print(volume.array.shape, volume.affine_ras())
volume.save_nifti(sys.argv[2] if len(sys.argv) > 2 else "volume.nii.gz")

middle = volume.array[60:68, 50:78, 50:78]
print(f"water is {middle.mean():.1f} HU")
