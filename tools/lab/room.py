"""A simulated room with a detector as real ones are, and its calibration set, made as a physicist makes it."""

import pathlib

from lab import isocenter

STATION, MODE, KV = "room3", "bin2", 109
AIR_COLUMNS = 24
WATER_MM = (160, 200)  # cylinders
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
_SCATTER = "scatter { views: 8 }"
_LAG = "lag { share: 0.03 release: 0.5 }  lag { share: 0.02 release: 0.05 }"


class Room:
    """Sweeps, phantoms and the set lie in `folder`. `geometry`: flags of simulate, of the detector and the arm."""

    def __init__(self, folder, geometry, photons, seed):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._geometry = ("--seed", seed, *geometry)
        self.set = self.folder / f"{STATION}.isocal"
        self.physics = self._write("room", photons, _SCATTER, _LAG)
        # What the fit of the water polynomial wants: narrow collimation, and frames so slow that nothing lags.
        self._narrow = self._write("narrow", photons, "", "")
        self._scattering = self._write("scattering", photons, _SCATTER, "")

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

    def measure(self):
        """Sweeps and phantoms, and the set that they tell. Returns what `isocenter calibrate` printed."""
        printed = [self._calibrate("detector", *self._detector_sweeps())]
        step = self.simulate("step", "--sweep", "step", "--frames", SWEEP_FRAMES["step"])
        printed.append(self._calibrate("lag", "--step", step, "--into", self.set))
        scans = [
            flag
            for mm in WATER_MM
            for flag in ("--scan", self._water(f"narrow-{mm}", mm, self._narrow), "--diameter-mm", mm)
        ]
        printed.append(self._calibrate("beam-hardening", *scans, "--into", self.set))
        pairs = [
            flag
            for mm in WATER_MM
            for flag in (
                *("--with", self._water(f"scattering-{mm}", mm, self._scattering)),
                *("--without", self.folder / f"narrow-{mm}"),
            )
        ]
        printed.append(self._calibrate("scatter", *pairs, "--into", self.set))
        return "\n".join(printed)

    def _detector_sweeps(self):
        for sweep in ("dark", "flat"):
            self.simulate(sweep, "--sweep", sweep, "--frames", SWEEP_FRAMES[sweep])
        return (
            *("--dark", self.folder / "dark", "--flat", self.folder / "flat", "--air-columns", AIR_COLUMNS),
            *("--station", STATION, "--mode", MODE, "--kv", KV, "--valid-days", 30, "--out", self.set, "--overwrite"),
        )

    def _water(self, name, diameter_mm, physics):
        return self.simulate(
            *(name, "--phantom", "cylinder", "--scale-mm", diameter_mm / 2, "--frames", 24), physics=physics
        )

    @staticmethod
    def _calibrate(part, *flags):
        return isocenter.must("calibrate", part, *flags, seconds=600)
