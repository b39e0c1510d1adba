"""The first scan of a console that is written from the contract alone: a ball of water beside the isocentre, computed here, goes to the
service by own_console.py. `first_scan.py HOST:PORT` prints the job and where its volume is; instead of ball() stands the detector."""

import array
import math
import sys

import grpc
import own_console
from isocenter.v1 import acquisition_pb2 as pb

SOURCE_TO_ISOCENTER_MM, SOURCE_TO_DETECTOR_MM, ARC_DEG = 750.0, 1200.0, 220.0
COLUMNS, ROWS, PITCH_MM, FRAMES = 78, 60, 4.928, 100
WATER_PER_MM, RADIUS_MM, CENTRE_MM = 0.02, 50.0, (40.0, 0.0, 10.0)


def castagnoli(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


TABLE = [castagnoli(byte) for byte in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[crc & 0xFF ^ byte]
    return crc ^ 0xFFFFFFFF


def header():
    made = pb.AcquisitionHeader(frame_count=FRAMES, pixel_type=pb.PIXEL_TYPE_FLOAT32_LINE_INTEGRALS, station_name="first-scan")
    made.patient_study.patient_name, made.patient_study.patient_id = "Test^Water", "FIRST-SCAN"
    made.detector.columns, made.detector.rows = COLUMNS, ROWS
    made.detector.pitch_u_mm = made.detector.pitch_v_mm = PITCH_MM
    made.circular.source_to_isocenter_mm, made.circular.source_to_detector_mm = SOURCE_TO_ISOCENTER_MM, SOURCE_TO_DETECTOR_MM
    made.circular.arc_deg = ARC_DEG
    return made


def ball(frame):
    """Line integrals of the ball in that frame, [row][column], by the circle of geometry.proto: how long each ray is in it."""
    angle = math.radians(ARC_DEG * frame / (FRAMES - 1))
    cosine, sine = math.cos(angle), math.sin(angle)
    x, y, z = CENTRE_MM
    # The ball from the source, along the arm, u and v.
    along, across, down = SOURCE_TO_ISOCENTER_MM - (x * cosine + y * sine), y * cosine - x * sine, -z
    lines = array.array("f")
    for row in range(ROWS):
        v = (row - (ROWS - 1) / 2) * PITCH_MM
        for column in range(COLUMNS):
            u = (column - (COLUMNS - 1) / 2) * PITCH_MM
            near = (along * SOURCE_TO_DETECTOR_MM + across * u + down * v) ** 2 / (SOURCE_TO_DETECTOR_MM**2 + u * u + v * v)
            half = RADIUS_MM**2 - (along**2 + across**2 + down**2 - near)
            lines.append(WATER_PER_MM * 2 * math.sqrt(max(0.0, half)))
    if sys.byteorder == "big":
        lines.byteswap()
    return lines.tobytes()


def main(address):
    scan = own_console.Scan(lambda: grpc.insecure_channel(address), header())
    for index in range(FRAMES):
        pixels = ball(index)
        scan.add(pb.Frame(index=index, pixels=pixels, crc32c=crc32c(pixels), has_checksum=True))
    result = scan.run()
    print(f"job {result.job_id}: {result.instance_count} DICOM objects, study {result.study_instance_uid}")
    for warning in result.warning:
        print(f"warning: {warning}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: first_scan.py HOST:PORT, of isocenterd's grpc_address")
    try:
        main(sys.argv[1])
    except grpc.RpcError as refusal:
        sys.exit(f"first_scan: {refusal.code().name}: {refusal.details()}")
