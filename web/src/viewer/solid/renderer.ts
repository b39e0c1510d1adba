// A volume in WebGL2, as one three-dimensional texture.
import type { Grid, Level } from '../../api/types.ts';
import type { Window } from '../window_level.ts';
import { type Camera, extentMm, gridBasis, halfSizeMm, levelSizeMm } from './camera.ts';
import { asHalves } from './half_float.ts';
import { PIXELS, VERTICES } from './shaders.ts';

export type Mode = 'mip' | 'shaded';

export interface Scene {
  camera: Camera;
  mode: Mode;
  window: Window;
  inverted: boolean;
}

export const NO_WEBGL = 'This browser has no WebGL2, which 3-D needs. The planes do without.';

export function hasWebGl(): boolean {
  known ??= document.createElement('canvas').getContext('webgl2') !== null;
  return known;
}
let known: boolean | null = null;

const UNIFORMS = [
  'half_size', 'texture_size', 'voxel', 'right', 'up', 'away', 'middle', 'extent', 'step_length', 'window', 'shaded', 'inverted',
] as const;

const POLL_MS = 3;

export class Renderer {
  readonly canvas = document.createElement('canvas');
  private readonly gl: WebGL2RenderingContext;
  private readonly at: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private texture: WebGLTexture | null = null;
  private level: Level | null = null;

  // Throws where there is no WebGL2. `onLost`: the browser took its graphics away.
  constructor(private readonly grid: Grid, onLost: () => void) {
    const gl = this.canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error(NO_WEBGL);
    this.gl = gl;
    this.canvas.addEventListener('webglcontextlost', onLost);
    const program = gl.createProgram()!;
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTICES], [gl.FRAGMENT_SHADER, PIXELS]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`This browser's graphics cannot draw 3-D: ${gl.getProgramInfoLog(program) ?? 'no reason is given'}`);
    }
    gl.useProgram(program);
    this.at = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)])) as typeof this.at;
  }

  // The samples' memory is used up.
  setVoxels(level: Level, samples: Int16Array): void {
    const { gl } = this;
    gl.deleteTexture(this.texture);
    this.texture = gl.createTexture();
    this.level = level;
    gl.bindTexture(gl.TEXTURE_3D, this.texture);
    for (const [name, value] of [
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_R, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
    ] as const) gl.texParameteri(gl.TEXTURE_3D, name, value);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    gl.texStorage3D(gl.TEXTURE_3D, 1, gl.R16F, level.nx, level.ny, level.nz);
    gl.texSubImage3D(gl.TEXTURE_3D, 0, 0, 0, 0, level.nx, level.ny, level.nz, gl.RED, gl.HALF_FLOAT, asHalves(samples));
    if (gl.getError() === gl.OUT_OF_MEMORY) throw new Error('The graphics memory of this machine is too small for the volume');
  }

  // Draws rows `from` (from the bottom) to `from + rows` of a picture of that size into the lower left corner of the canvas.
  draw(scene: Scene, width: number, height: number, from: number, rows: number, stepVoxels: number): void {
    const { gl, at, grid, level } = this;
    if (!level) return;
    const basis = gridBasis(grid, scene.camera);
    const extent = extentMm(grid, scene.camera, width, height);
    gl.viewport(0, 0, width, height);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, from, width, rows);
    gl.uniform3fv(at.half_size, halfSizeMm(grid));
    gl.uniform3fv(at.texture_size, levelSizeMm(level));
    gl.uniform3fv(at.voxel, level.spacing_mm);
    gl.uniform3fv(at.right, basis.right);
    gl.uniform3fv(at.up, basis.up);
    gl.uniform3fv(at.away, basis.away);
    gl.uniform2f(at.middle, scene.camera.right, scene.camera.up);
    gl.uniform2f(at.extent, extent.x, extent.y);
    gl.uniform1f(at.step_length, stepVoxels * Math.min(...level.spacing_mm));
    gl.uniform2f(at.window, scene.window.center - scene.window.width / 2, scene.window.width);
    gl.uniform1i(at.shaded, scene.mode === 'shaded' ? 1 : 0);
    gl.uniform1i(at.inverted, scene.inverted ? 1 : 0);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  // Until what was asked for is drawn. Blocks nothing meanwhile.
  async drawn(): Promise<void> {
    const { gl } = this;
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    if (!sync) return;
    while (gl.clientWaitSync(sync, 0, 0) === gl.TIMEOUT_EXPIRED) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    gl.deleteSync(sync);
  }

  // Browsers keep a few contexts only.
  stop(): void {
    this.gl.deleteTexture(this.texture);
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}
