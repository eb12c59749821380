import { ROW_PX } from "./layout";
import { BOX_WORDS, type Batch } from "./batch";
import type { Theme } from "../state/theme";

/** What a frame looks like: where time and pixels are, and which name is pointed at. */
export interface Frame {
  t0: number;
  ns_per_px: number;
  scroll_px: number;
  width_px: number;
  height_px: number;
  ratio: number;
  /** Name whose boxes stand out; -1 for none. */
  pointed: number;
  theme: Theme;
}

/** Draws the boxes of a batch. */
export interface BoxRenderer {
  readonly kind: "webgl2" | "2d";
  load(batch: Batch): void;
  draw(frame: Frame): void;
  dispose(): void;
}

const VERTEX = `#version 300 es
layout(location=0) in vec3 place;
layout(location=1) in uvec2 words;
uniform vec4 view;  // offset (units), px per unit, scroll (px), device pixels per px
uniform vec2 size;  // px
uniform uint pointed;
flat out vec4 fill; flat out uint flags; flat out vec2 edges; flat out float lift; out vec2 at;
void main() {
  float x0 = (place.x - view.x) * view.y;
  float x1 = (place.y - view.x) * view.y;
  float least = 1.0 / view.w;
  x1 = x1 - x0 > 3.0 ? x1 - 1.0 : max(x1, x0 + least);
  float y0 = place.z - view.z;
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  at = vec2(mix(clamp(x0, -20.0, size.x + 20.0), clamp(x1, -20.0, size.x + 20.0), corner.x), y0 + corner.y * ${(ROW_PX - 1).toFixed(1)});
  edges = vec2(x1, y0);
  uint name = words.y & 0xffffffu;
  fill = vec4(float(words.x & 255u), float((words.x >> 8) & 255u), float((words.x >> 16) & 255u), float(words.y >> 24)) / 255.0;
  flags = words.x >> 24;
  lift = name == pointed ? 1.0 : 0.0;
  gl_Position = vec4(at.x / size.x * 2.0 - 1.0, 1.0 - at.y / size.y * 2.0, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 fill; flat in uint flags; flat in vec2 edges; flat in float lift; in vec2 at;
uniform vec3 ground;
out vec4 colour;
void main() {
  vec3 c = fill.rgb;
  float y = at.y - edges.y;
  if ((flags & 36u) != 0u && mod(at.x + at.y, 8.0) < 2.6) c = mix(c, ground, 0.42);
  if ((flags & 1u) != 0u && edges.x - at.x < 10.0 && mod(y, 6.0) < 3.0) c = mix(c, ground, 0.75);
  if ((flags & 8u) != 0u && (y > ${(ROW_PX - 5).toFixed(1)})) c = vec3(0.85, 0.16, 0.24);
  if (lift > 0.5) c = mix(c, vec3(1.0) - ground, 0.28);
  colour = vec4(mix(ground, c, fill.a), 1.0);
}`;

/** The ground that boxes are blended with, as in the style sheet. */
export const GROUND: Record<Theme, readonly [number, number, number]> = { dark: [15, 18, 22], light: [255, 255, 255] };

/** A renderer that draws all boxes in one call; nothing where WebGL 2 is not to be had, or only in software, unless that is asked for. */
export function webglRenderer(canvas: HTMLCanvasElement, evenInSoftware: boolean): BoxRenderer | null {
  if (!evenInSoftware && isSoftware()) return null;
  const gl = canvas.getContext("webgl2", { alpha: true, antialias: false, depth: false, powerPreference: "high-performance", failIfMajorPerformanceCaveat: !evenInSoftware });
  const program = gl && makeProgram(gl);
  if (!gl || !program) return null;
  const place = (name: string) => gl.getUniformLocation(program, name);
  const where = { view: place("view"), size: place("size"), pointed: place("pointed"), ground: place("ground") };
  const vao = gl.createVertexArray();
  const buffer = gl.createBuffer();
  gl.bindVertexArray(vao);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 3, gl.FLOAT, false, BOX_WORDS * 4, 0);
  gl.vertexAttribDivisor(0, 1);
  gl.enableVertexAttribArray(1);
  gl.vertexAttribIPointer(1, 2, gl.UNSIGNED_INT, BOX_WORDS * 4, 12);
  gl.vertexAttribDivisor(1, 1);
  let batch: Batch | null = null;
  return {
    kind: "webgl2",
    load(next) {
      batch = next;
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, next.floats.subarray(0, next.count * BOX_WORDS), gl.DYNAMIC_DRAW);
    },
    draw(frame) {
      const [r, g, b] = GROUND[frame.theme];
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      if (!batch || batch.count === 0) return;
      gl.useProgram(program);
      gl.bindVertexArray(vao);
      gl.uniform4f(where.view, (frame.t0 - batch.base_ns) / batch.unit_ns, batch.unit_ns / frame.ns_per_px, frame.scroll_px, frame.ratio);
      gl.uniform2f(where.size, frame.width_px, frame.height_px);
      gl.uniform1ui(where.pointed, frame.pointed < 0 ? 0xffffffff : frame.pointed);
      gl.uniform3f(where.ground, r / 255, g / 255, b / 255);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, batch.count);
    },
    dispose() {
      gl.deleteBuffer(buffer);
      gl.deleteVertexArray(vao);
      gl.deleteProgram(program);
    },
  };
}

/** Whether WebGL would be computed by the processor. Asked of another canvas: one that has been WebGL's is nobody else's. */
function isSoftware(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return true;
  const named = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

function makeProgram(gl: WebGL2RenderingContext): WebGLProgram | null {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind);
    if (!shader || !program) return null;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  if (!program) return null;
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}
