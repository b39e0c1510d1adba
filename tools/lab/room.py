"""A simulated room with a detector as real ones are, and its calibration set, made as a physicist makes it."""

import array
import math
import pathlib

from lab import isocenter, meta_image

STATION, MODE, KV = "room3", "bin2", 109
AIR_COLUMNS = 24
WATER_MM = (160, 200)  # cylinders
BOTTLE_MM = (75, 90, 90)  # half axes of an ellipsoid of water that is as short as a head
SWEEP_FRAMES = {"dark": 60, "flat": 60, "step": 160}
_PHYSICS = """
tube {{ kv: {kv} aluminium_mm: 2.5 copper_mm: 0.3 heel: true }}
{scatter}
detector {{
  signal_counts: 45000  photons: {photons}  electronic_counts: 6
  offset_counts: 1200  offset_spread_counts: 40  gain_spread: 0.05
  defective_pixels: 0.001  dead_lines: 2  dead_clusters: 3
  {lag}
  dose_flicker: 0.2
}}
"""
_LAG = "lag { share: 0.03 release: 0.5 }  lag { share: 0.02 release: 0.05 }"


class Room:
    """Sweeps, phantoms and the set lie in `folder`. `geometry`: flags of simulate, of the detector and the arm.
    `scatter_views`: in so many views photons are followed; between them scatter is interpolated."""

    def __init__(self, folder, geometry, photons, seed, scatter_views=8):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._geometry = ("--seed", seed, *geometry)
        self.set = self.folder / f"{STATION}.isocal"
        scatter = f"scatter {{ views: {scatter_views} }}"
        self.physics = self._write("room", photons, scatter, _LAG)
        # What the fit of the water polynomial wants: narrow collimation, and frames so slow that nothing lags.
        self._narrow = self._write("narrow", photons, "", "")
        self._scattering = self._write("scattering", photons, scatter, "")

    def _write(self, name, photons, scatter, lag):
        path = self.folder / f"{name}.textproto"
        path.write_text(_PHYSICS.format(kv=KV, photons=photons, scatter=scatter, lag=lag))
        return path

    def simulate(self, name, *what, physics=None, run=isocenter.must):
        """The bundle NAME; `what`: further flags of simulate; `run`: runs isocenter with what it is given."""
        bundle = self.folder / name
        run(
            *("simulate", "--out", bundle, "--overwrite", "--physics", physics or self.physics, *self._geometry, *what),
            *("--station", STATION, "--detector-mode", MODE, "--tube-voltage", KV),
        )
        return bundle

    def measure(self, bottle=False):
        """Sweeps and phantoms, and the set that they tell. Returns what `isocenter calibrate` printed.
        `bottle`: kernels of scatter are fitted to a bottle as short as a head in place of the thicker cylinder."""
        printed = [self._calibrate("detector", *self._detector_sweeps())]
        step = self.simulate("step", "--sweep", "step", "--frames", SWEEP_FRAMES["step"])
        printed.append(self._calibrate("lag", "--step", step, "--into", self.set))
        scans = [
            flag
            for mm in WATER_MM
            for flag in ("--scan", self._water(f"narrow-{mm}", mm, self._narrow), "--diameter-mm", mm)
        ]
        printed.append(self._calibrate("beam-hardening", *scans, "--into", self.set))
        pairs = [self._scattered(WATER_MM[0])]
        if bottle:
            what = ("--volume", self._bottle())
            pairs.append((self._frames("scattering-bottle", self._scattering, what), self._frames("narrow-bottle", self._narrow, what)))
        else:
            pairs.append(self._scattered(WATER_MM[1]))
        flags = [flag for with_it, without in pairs for flag in ("--with", with_it, "--without", without)]
        printed.append(self._calibrate("scatter", *flags, "--into", self.set))
        return "\n".join(printed)

    def _detector_sweeps(self):
        for sweep in ("dark", "flat"):
            self.simulate(sweep, "--sweep", sweep, "--frames", SWEEP_FRAMES[sweep])
        return (
            *("--dark", self.folder / "dark", "--flat", self.folder / "flat", "--air-columns", AIR_COLUMNS),
            *("--station", STATION, "--mode", MODE, "--kv", KV, "--valid-days", 30, "--out", self.set, "--overwrite"),
        )

    def _scattered(self, mm):
        """A cylinder of water with its scatter, and without."""
        return self._water(f"scattering-{mm}", mm, self._scattering), self.folder / f"narrow-{mm}"

    def _water(self, name, diameter_mm, physics):
        return self._frames(name, physics, ("--phantom", "cylinder", "--scale-mm", diameter_mm / 2))

    def _frames(self, name, physics, what):
        return self.simulate(name, *what, "--frames", 24, physics=physics)

    def _bottle(self):
        """The volume of an ellipsoid of water, in HU; its surface is sharp along x alone."""
        voxel_mm, size = 2.0, 96
        a, b, c = BOTTLE_MM
        at = [(i - (size - 1) / 2) * voxel_mm for i in range(size)]
        hu = array.array("h")
        for z in at:
            for y in at:
                left = 1 - (y / b) ** 2 - (z / c) ** 2
                edge = a * math.sqrt(left) if left > 0 else -voxel_mm
                hu.extend(round(1000 * min(1, max(0, (edge - abs(x)) / voxel_mm + 0.5)) - 1000) for x in at)
        path = self.folder / "bottle.mha"
        path.write_bytes(meta_image.header((size,) * 3, (voxel_mm,) * 3, "LOCAL").encode() + hu.tobytes())
        return path

    @staticmethod
    def _calibrate(part, *flags):
        return isocenter.must("calibrate", part, *flags, seconds=600)
