"""What was measured of detectors: sets that the service keeps."""

import pathlib
from typing import Iterator, List, Union

import grpc

from isocenter import checks
from isocenter.channel import Channel
from isocenter.errors import InvalidArgument, NotFound, from_grpc
from isocenter.jobs import unary
from isocenter.v1 import calibration_service_pb2, calibration_service_pb2_grpc

_PIECE_BYTES = 1 << 20
_TRANSFER_S = 600.0  # the server gives up after as long
_LEAST_FILE_BYTES, _MOST_FILE_BYTES = 25, 587202560


class Calibrations:
    """The sets of a service. What is returned is KeptCalibration of calibration_service.proto: label (name, station_name,
    detector_mode, valid_until ..), crc32c, part (what it corrects)."""

    def __init__(self, channel: Channel):
        self._channel = channel
        self._stub = calibration_service_pb2_grpc.CalibrationServiceStub(channel.grpc)

    def list(self, station_name: str = "", withdrawn: bool = False, limit: int = 100) -> List:
        """Newest first, without maps and pictures. station_name: only of this one. withdrawn: these, too. limit: 1 to 1000."""
        request = calibration_service_pb2.ListCalibrationsRequest(
            station_name=station_name, withdrawn=withdrawn, max_results=checks.whole("limit", limit, 1, 1000)
        )
        return list(unary(self._channel, self._stub.ListCalibrations, request).calibration)

    def add(self, name: str, file: Union[str, pathlib.Path]):
        """Keeps the set in a file, for good. The same file again gives the set that is there. Raises AlreadyExists (another set of
        this name), DataLoss (its checksum), InvalidArgument."""
        path = pathlib.Path(file)
        if not path.is_file():
            raise NotFound(f"the calibration file {path} does not exist")
        size = path.stat().st_size
        if not _LEAST_FILE_BYTES <= size <= _MOST_FILE_BYTES:
            raise InvalidArgument(f"{path} has {size} bytes; legal is {_LEAST_FILE_BYTES} to {_MOST_FILE_BYTES}")

        def pieces() -> Iterator[calibration_service_pb2.AddCalibrationRequest]:
            yield calibration_service_pb2.AddCalibrationRequest(name=name, file_bytes=size)
            with open(path, "rb") as data:
                while piece := data.read(_PIECE_BYTES):
                    yield calibration_service_pb2.AddCalibrationRequest(data=piece)

        return unary(self._channel, self._stub.AddCalibration, pieces(), _TRANSFER_S)

    def save(self, name: str, file: Union[str, pathlib.Path], *, overwrite: bool = False):
        """Writes the file of a set, once all has arrived. Raises NotFound, DataLoss, AlreadyExists (the file is there, without
        overwrite)."""
        path = pathlib.Path(file)
        checks.unused(path, overwrite)
        partial = path.with_name(path.name + ".partial")
        request = calibration_service_pb2.GetCalibrationRequest(name=name)
        kept = None
        try:
            with open(partial, "wb") as out:
                for piece in self._stub.GetCalibration(request, timeout=_TRANSFER_S, metadata=self._channel.metadata()):
                    kept = piece.calibration if piece.HasField("calibration") else kept
                    out.write(piece.data)
            partial.replace(path)
        except grpc.RpcError as error:
            raise from_grpc(error) from None
        finally:
            partial.unlink(missing_ok=True)
        return kept

    def withdraw(self, name: str):
        """From now on it is not chosen for acquisitions. Raises NotFound."""
        return unary(self._channel, self._stub.WithdrawCalibration, calibration_service_pb2.WithdrawCalibrationRequest(name=name))
