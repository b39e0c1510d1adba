"""A console: sends frames as they are exposed, shows what the service tells meanwhile. console.py [HOST:PORT]"""

import sys
import time

import disc
import isocenter

FRAMES_PER_SECOND = 60

orbit = isocenter.CircularOrbit(source_to_isocenter_mm=750, source_to_detector_mm=1200, arc_deg=356)
scan = disc.scan(orbit)


def exposed():
    """Frames at the pace of the arm."""
    for frame in scan:
        time.sleep(1 / FRAMES_PER_SECOND)
        yield frame


service = isocenter.connect(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051")
acquisition = isocenter.Acquisition.of(
    scan, orbit, pitch_mm=3.0, grid=isocenter.Grid.cube(128, 1.5), station_name="room3", patient={"patient_name": "Doe^Jane"}
)
with service.stream(acquisition, on_interrupted=lambda why: print("interrupted:", why)) as stream:
    print("job", stream.job_id)
    stream.send_all(exposed(), background=True)
    for event in stream.events():
        if isinstance(event, isocenter.JobWarning):
            print("warning:", event.text)
        elif isinstance(event, isocenter.Preview):
            axial = event.planes["axial"].hounsfield
            print(f"preview after {event.frames_backprojected} frames: {axial[64, 64]} HU in the middle")
    result = stream.finish()
print(f"{result.seconds_after_last_frame:.2f} s after the last frame on {result.backend}")

job = service.job(result.job_id)
print("volume of", job.volume().array.shape)
