"""Jobs of a service: one acquisition and everything that becomes of it."""

import pathlib
import re
import time
from typing import BinaryIO, Iterator, List, Optional, Union

import grpc
import numpy as np

from isocenter import checks, progress as told_of
from isocenter.channel import Channel
from isocenter.errors import AlreadyExists, DataLoss, DeadlineExceeded, FailedPrecondition, Internal, ResourceExhausted, from_code, from_grpc
from isocenter.events import Preview, enum_word
from isocenter.geometry import Grid
from isocenter.reconnect import Reconnect
from isocenter.v1 import jobs_pb2, jobs_pb2_grpc, protocols_pb2
from isocenter.volume import Volume

SHORT_S = 30.0  # of calls that answer from memory
_TO_REFINE_S = 300.0  # the server reads all frames of the job before it answers
_OUTAGE_S = 120.0
_ENDED = (jobs_pb2.JOB_STATE_COMPLETED, jobs_pb2.JOB_STATE_FAILED, jobs_pb2.JOB_STATE_CANCELLED)
_ACTIVE_CLASSES = {"interactive": jobs_pb2.JOB_CLASS_INTERACTIVE, "batch": jobs_pb2.JOB_CLASS_BATCH}


def unary(channel: Channel, method, request, timeout_s: float = SHORT_S):
    """The answer to one request."""
    try:
        return method(request, timeout=timeout_s, metadata=channel.metadata())
    except grpc.RpcError as error:
        raise from_grpc(error) from None


class Job:
    """A job of a service. All methods ask the service, and raise NotFound when it does not know the job."""

    def __init__(self, channel: Channel, job_id: str):
        self._channel, self.job_id = channel, job_id
        self._stub = jobs_pb2_grpc.JobServiceStub(channel.grpc)

    def __repr__(self) -> str:
        return f"Job({self.job_id!r})"

    def status(self) -> jobs_pb2.Job:
        """Everything that the service knows of it, as jobs.proto has it."""
        return unary(self._channel, self._stub.GetJob, jobs_pb2.GetJobRequest(job_id=self.job_id))

    @property
    def state(self) -> str:
        """receiving, reconstructing, refining, exporting, completed, failed or cancelled."""
        return enum_word(jobs_pb2.JobState, self.status().state, "JOB_STATE_")

    def watch(self, previews: bool = False, timeout_s: Optional[float] = None) -> Iterator[jobs_pb2.Job]:
        """The job at once, then after every change, until it has ended. A connection that breaks is tried again for two minutes.
        Raises DeadlineExceeded after timeout_s."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        reconnect, request = Reconnect(_OUTAGE_S), jobs_pb2.WatchJobRequest(job_id=self.job_id, previews=previews)
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            calls, state, moved_on = self._stub.WatchJob(request, timeout=left, metadata=self._channel.metadata()), None, False
            try:
                for job in calls:
                    state, moved_on = job.state, True
                    yield job
            except grpc.RpcError as error:
                translated = from_grpc(error)
                if isinstance(translated, DeadlineExceeded) and end is not None:
                    raise DeadlineExceeded(f"job {self.job_id} has not ended within {timeout_s:g} s") from None
                verdict = reconnect.verdict(translated, moved_on, time.monotonic())
                if verdict is not None:
                    raise verdict from None
                time.sleep(reconnect.pause())
                continue
            finally:
                calls.cancel()
            if state not in _ENDED:
                raise Internal(f"the server stopped telling of job {self.job_id} before it had ended")
            return

    def previews(self) -> Iterator[Preview]:
        """Previews while the volume grows, until the job has ended."""
        for job in self.watch(previews=True):
            if job.HasField("preview"):
                yield Preview.from_proto(job.preview)

    def wait(self, timeout_s: Optional[float] = None, progress: told_of.Progress = None) -> jobs_pb2.JobResult:
        """The result, once there is one. progress: see isocenter.progress: True draws a bar. Raises the error with which the job failed
        or was cancelled; DeadlineExceeded."""
        with told_of.told(progress, self.job_id) as show:
            for job in self.watch(timeout_s=timeout_s):
                last = job
                if show is not None:
                    show(_done(job))
        if last.state == jobs_pb2.JOB_STATE_COMPLETED:
            return last.result
        raise from_code(last.error_code, f"job {self.job_id}: {last.error_message}")

    def cancel(self) -> None:
        """Stops it. Raises FailedPrecondition when it has ended already."""
        unary(self._channel, self._stub.CancelJob, jobs_pb2.CancelJobRequest(job_id=self.job_id))

    def delete(self, force: bool = False) -> None:
        """Removes it with its volume and DICOM objects, once it has ended. `force`: also when DICOM destinations have not confirmed
        that they have it. Raises FailedPrecondition."""
        unary(self._channel, self._stub.DeleteJob, jobs_pb2.DeleteJobRequest(job_id=self.job_id, force=force))

    def refine(
        self,
        protocol: str = "",
        second_pass: Optional[protocols_pb2.SecondPass] = None,
        job_class: str = "interactive",
        deadline_s: float = 0,
        request_id: str = "",
        phase: Optional[float] = None,
        phase_width: float = 0,
    ) -> "Job":
        """A new job that refines the volume from the frames that the service still has. protocol: one with a refinement; or
        second_pass: what is corrected for; its reference_job_id is a job whose volume is held beside the frames of self_calibrate,
        of which a service that knows no references raises FailedPrecondition. deadline_s: from now, up to 604800; 0: as the protocol says. request_id: the same one
        again makes no second job. phase: a volume of the frames around this phase of a moving organ's cycle, 0 to less than 1, which
        the job's frames must have told; phase_width: the part of the cycle whose frames count half and more, 0: 0.2."""
        if job_class not in _ACTIVE_CLASSES:
            raise checks.illegal("job_class", repr(job_class), " or ".join(_ACTIVE_CLASSES))
        request = jobs_pb2.RefineJobRequest(
            job_id=self.job_id,
            protocol=protocol,
            deadline_seconds=checks.real("deadline_s", deadline_s, 0, 604800),
            job_class=_ACTIVE_CLASSES[job_class],
            request_id=request_id,
            second_pass=second_pass,
            phase=None
            if phase is None
            else jobs_pb2.PhaseWindow(phase=checks.phase("phase", phase), width=checks.real("phase_width", phase_width, 0, 1)),
        )
        answer = unary(self._channel, self._stub.RefineJob, request, _TO_REFINE_S)
        if answer.second_pass.reference_job_id != request.second_pass.reference_job_id:
            raise FailedPrecondition(
                f"the service knows no references, and job {answer.job_id} is of frames alone; legal is a service of this version"
            )
        return Job(self._channel, answer.job_id)

    def _download(self, result_format) -> Iterator[jobs_pb2.DownloadResultResponse]:
        request = jobs_pb2.DownloadResultRequest(job_id=self.job_id, format=result_format)
        call = self._stub.DownloadResult(request, metadata=self._channel.metadata())
        try:
            yield from call
        except grpc.RpcError as error:
            raise from_grpc(error) from None
        finally:
            call.cancel()

    def volume(self) -> Volume:
        """The volume in Hounsfield units with its place in the patient. Raises FailedPrecondition (not completed), DataLoss (less
        arrived than was announced), ResourceExhausted (this machine has not the memory)."""
        pieces = self._download(jobs_pb2.RESULT_FORMAT_RAW_FLOAT32)
        array, grid = np.empty(0), None
        room, at = memoryview(b""), 0
        for piece in pieces:
            if grid is None:
                grid = Grid.from_proto(piece.grid)
                array = _empty(grid)
                room = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
            size = len(piece.data)
            if at + size > len(room):
                raise DataLoss(f"the server sent more than the {len(room)} bytes of the volume")
            room[at : at + size] = piece.data
            at += size
        if grid is None or at != len(room):
            missing = "all" if grid is None else str(len(room) - at)
            raise DataLoss(f"the volume is incomplete: {missing} bytes are missing")
        return Volume(array, grid)

    def save_dicom(self, folder: Union[str, pathlib.Path]) -> List[pathlib.Path]:
        """Writes the DICOM files into a folder, which is made, and replaces none that is there; their paths. Raises AlreadyExists (a
        file), DataLoss (less arrived than was announced)."""
        target = pathlib.Path(folder)
        if target.exists() and not target.is_dir():
            raise AlreadyExists(f"{target} is there already, and no folder; legal is a folder, or a name that is not there")
        target.mkdir(parents=True, exist_ok=True)
        written: List[pathlib.Path] = []
        announced, out = None, None
        try:
            for piece in self._download(jobs_pb2.RESULT_FORMAT_DICOM):
                announced = piece.file_count if announced is None else announced
                if piece.file_name:
                    if out is not None:
                        raise DataLoss("the server began a file before it ended the last one")
                    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", piece.file_name):
                        raise DataLoss(f"the server sent a file name that is not a plain one: {piece.file_name!r}")
                    out = _new_file(target / piece.file_name)
                    written.append(target / piece.file_name)
                if out is None and (piece.data or piece.end_of_file):
                    raise DataLoss("the server sent data that belong to no file")
                if out is not None:
                    out.write(piece.data)
                if piece.end_of_file and out is not None:
                    out.close()
                    out = None
        finally:
            if out is not None:
                out.close()
        if out is not None or len(written) != announced:
            cut = ", the last of them not to its end" if out is not None else ""
            raise DataLoss(f"the server announced {announced or 0} DICOM files and sent {len(written)}{cut}")
        return written


def _done(job: jobs_pb2.Job) -> float:
    """The share of a job's work."""
    if job.state == jobs_pb2.JOB_STATE_COMPLETED:
        return 1.0
    if job.refines_job_id:
        return job.progress.refined_fraction
    return job.progress.frames_backprojected / max(1, job.progress.frames_total)


def _new_file(path: pathlib.Path) -> BinaryIO:
    try:
        return open(path, "xb")
    except FileExistsError:
        raise AlreadyExists(f"{path} is there already; legal is a folder that has no file of this name") from None


def _empty(grid: Grid) -> np.ndarray:
    try:
        return np.empty(grid.shape, "<f4")
    except MemoryError:
        nx, ny, nz = grid.size
        size = 4 * nx * ny * nz
        raise ResourceExhausted(f"the volume of {nx}x{ny}x{nz} voxels needs {size} bytes of memory, which are not there") from None


def list_jobs(channel: Channel, request: jobs_pb2.ListJobsRequest, limit: int) -> List[jobs_pb2.Job]:
    """Those that match, newest first, at most `limit`."""
    stub, jobs = jobs_pb2_grpc.JobServiceStub(channel.grpc), []  # type: ignore[var-annotated]
    while True:
        request.page_size = min(max(limit - len(jobs), 1), 1000)
        response = unary(channel, stub.ListJobs, request)
        jobs.extend(response.job)
        request.page_token = response.next_page_token
        if not request.page_token or len(jobs) >= limit:
            return jobs[:limit]
