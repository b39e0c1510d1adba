// Words of the field, as the page explains them: where they stand first on a screen, and all of them in the help.
export const TERMS = {
  GUPS: '10⁹ voxel updates in a second: one voxel of the volume brought up to date by one frame is one update. Kernel: of the device alone; whole: with all that is around it',
  Chunk: 'Some tens of frames that a device filters and back-projects at once',
  FDK: 'Feldkamp, Davis and Kress: filtered back-projection, the volume that is there when the arm stops',
  Refinement: 'A second volume of the same frames, made by iterations: projected, compared with the frames, corrected',
  Subset: 'The part of the frames that one step of an iteration compares with',
  Residual: 'How far the frames and the projected volume are apart, as a part of the frames: smaller is closer',
  Objective: 'What each iteration makes smaller: how far the frames and the projected volume are apart, and how rough the volume is',
  'Second pass': 'The same frames reconstructed once more, against what the first volume shows: metal, scatter, bone, motion',
  Class: 'Who is served first: live scans, then interactive jobs, for whose volume somebody waits, then batch jobs',
  Window: 'The Hounsfield units (HU; water 0, air −1000) that are shown from black to white: their centre and their width',
  MIP: 'Maximum intensity projection: of each line of sight the brightest voxel, so that vessels and metal are seen through everything else. Shaded: what is above the window is a lit surface, below it is clear. Both show means of several voxels, so the smallest things are seen in the planes only',
  MTF: 'Modulation transfer function: how much of the contrast of ever finer stripes is left. Where it falls to 50 % or 10 %, in line pairs per mm: larger is sharper',
  NPS: 'Noise power spectrum: how coarse the noise is. Its mean frequency, per mm: smaller is blotchier',
  CNR: 'Contrast-to-noise ratio: how far a disc stands out from what is beside it, in units of its noise: larger is better seen',
  FWHM: 'Full width at half maximum: how thick a slice is, where it has half of its sensitivity and more, mm',
  Cupping: 'How much darker the middle of uniform matter is than its rim, HU: beam hardening or scatter that is left',
  Detectability: 'How surely a disc of that size is told from the noise around it: a ratio of signal to noise, larger is better seen',
  Spool: 'Where every frame is kept on disk until its job has ended',
  Instance: 'One DICOM object: an image of a series, or a volume in one piece',
} as const;

export type TermName = keyof typeof TERMS;
