// What a volume that may be wrong means beside the patient: for who has to know whether another exposure helps, which the measured
// sentences of the service do not say. docs/user-guide/at-the-arm.md says more of each.
export interface Advice {
  meaning: string;
  // Whether another exposure helps.
  again: string;
}

const SAME = 'Another exposure gives the same';

export const ADVICE: Record<string, Advice> = {
  air_level: { meaning: 'Brightness and header do not fit: all HU may be off, shapes are mostly right.', again: 'Another exposure helps only where a filter was in or out that should not be: else it gives the same.' },
  beyond_calibration: { meaning: 'The patient, or metal, is thicker than what the detector was calibrated with: HU behind the thickest parts are less certain, shapes are right.', again: `${SAME}.` },
  calibration: { meaning: 'The frames were not corrected, or with a set that has expired: rings, shading, wrong HU.', again: `${SAME}.` },
  cut_object: { meaning: 'The patient is wider than the detector: edges are too bright, and all values are off.', again: `${SAME} in the same position: move the patient into the middle, or take a protocol for truncated scans. Of these frames Refine with fdk_then_completed_rows makes a second volume that comes nearer.` },
  dead_detector: { meaning: 'Lines or pixels of the detector show nothing: rings and streaks.', again: `${SAME}, unless it is one frame alone.` },
  dose_unknown: { meaning: 'The dose changed in the scan, and nobody told by how much: bands and wrong HU.', again: 'Another exposure helps if exposure control may be held fixed.' },
  implausible_header: { meaning: 'The console told a distance, size or voxel that no C-arm has: do not measure in this volume.', again: `${SAME} under the same settings.` },
  matrices_misfit: { meaning: 'The frames do not fit where the arm is said to have been.', again: 'Another exposure helps if the patient moved: else it gives the same.' },
  repeated_frames: { meaning: 'The detector stood still while the arm turned: the volume is wrong.', again: 'Another exposure helps once what delivers its pictures has been restarted.' },
  saturated_detector: { meaning: 'Too much light: skin, hair and air beside the patient are lost, and HU with them.', again: 'Another exposure helps with less dose.' },
  unknown_defects: { meaning: 'Pixels have died since the detector was calibrated: rings.', again: `${SAME}.` },
};
