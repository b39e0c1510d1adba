// What the graphics processor does for each pixel: it follows a ray through the volume.

export const VERTICES = `#version 300 es
// One triangle that covers everything.
out vec2 at;
void main() {
  at = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(at, 0.0, 1.0);
}`;

export const PIXELS = `#version 300 es
precision highp float;
precision highp sampler3D;
// Millimetres along the grid's axes; the volume's centre is the origin.
uniform sampler3D voxels;     // Hounsfield units
uniform vec3 half_size;       // of the volume
uniform vec3 texture_size;    // what the texture spans, from the volume's first corner on
uniform vec3 voxel;
uniform vec3 right, up, away; // unit vectors
uniform vec2 middle;          // of the pane, along right and up
uniform vec2 extent;          // from there to its edges
uniform float step_length;
uniform vec2 window;          // its lower end and its width, HU
uniform bool shaded;
uniform bool inverted;
in vec2 at;
out vec4 colour;

float hounsfield(vec3 p) { return texture(voxels, (p + half_size) / texture_size).r; }

// Where a ray is inside the volume: begin and end, in millimetres from its origin. Empty: the end comes first.
vec2 inside(vec3 origin) {
  vec3 direction = mix(away, vec3(1e-9), lessThan(abs(away), vec3(1e-9)));
  vec3 a = (-half_size - origin) / direction;
  vec3 b = (half_size - origin) / direction;
  vec3 first = min(a, b);
  vec3 last = max(a, b);
  return vec2(max(max(first.x, first.y), first.z), min(min(last.x, last.y), last.z));
}

float grey(float value) { return clamp((value - window.x) / window.y, 0.0, 1.0); }

float largest(vec3 origin, vec2 part) {
  int steps = int(ceil((part.y - part.x) / step_length));
  float found = -32768.0;
  for (int i = 0; i < steps; ++i) {
    float t = min(part.x + (float(i) + 0.5) * step_length, part.y);
    found = max(found, hounsfield(origin + t * away));
  }
  return grey(found);
}

vec3 gradient(vec3 p) {
  vec3 x = vec3(voxel.x, 0.0, 0.0), y = vec3(0.0, voxel.y, 0.0), z = vec3(0.0, 0.0, voxel.z);
  return vec3(hounsfield(p + x) - hounsfield(p - x), hounsfield(p + y) - hounsfield(p - y),
              hounsfield(p + z) - hounsfield(p - z)) / (2.0 * voxel);
}

// Soft tissue is reddish, bone is ivory.
vec3 lit(vec3 p, float value) {
  vec3 tint = mix(vec3(0.82, 0.5, 0.4), vec3(0.97, 0.93, 0.84), smoothstep(80.0, 350.0, value));
  vec3 slope = gradient(p);
  float steep = length(slope);
  if (steep < 1e-3) return 0.4 * tint;
  vec3 normal = -slope / steep;
  vec3 light = normalize(-away + 0.5 * up - 0.4 * right);
  float shine = pow(max(dot(normal, normalize(light - away)), 0.0), 24.0);
  return tint * (0.22 + 0.78 * max(dot(normal, light), 0.0)) + 0.18 * shine;
}

// Front to back: below the window all is clear, at its upper end a voxel hides what is behind it.
vec3 surface(vec3 origin, vec2 part) {
  float voxel_length = min(min(voxel.x, voxel.y), voxel.z);
  int steps = int(ceil((part.y - part.x) / step_length));
  vec3 sum = vec3(0.0);
  float clear = 1.0;
  for (int i = 0; i < steps && clear > 0.02; ++i) {
    vec3 p = origin + min(part.x + (float(i) + 0.5) * step_length, part.y) * away;
    float value = hounsfield(p);
    float dense = grey(value);
    if (dense <= 0.0) continue;
    float hides = 1.0 - pow(1.0 - min(dense * dense, 0.99), step_length / voxel_length);
    sum += clear * hides * lit(p, value);
    clear *= 1.0 - hides;
  }
  return sum;
}

void main() {
  vec2 offset = middle + at * extent;
  // Far enough before the volume, wherever it is looked at from.
  vec3 origin = offset.x * right + offset.y * up - 2.0 * length(half_size) * away;
  vec2 part = inside(origin);
  vec3 seen = vec3(0.0);
  if (part.y > part.x) seen = shaded ? surface(origin, part) : vec3(largest(origin, part));
  colour = vec4(inverted ? 1.0 - seen : seen, 1.0);
}`;
