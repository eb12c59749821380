import type { Look } from "./overlay";

/** Reads the colours that canvases need from the style sheet. */
export function readLook(): Look {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: of("--text"),
    textFaint: of("--text-3"),
    line: of("--line"),
    accent: of("--accent"),
    accentBack: of("--accent-bg"),
    group: of("--bg-1"),
    ground: of("--bg"),
    curve: of("--c-copy"),
    markCurve: of("--c-input"),
    markLine: of("--warn"),
  };
}

/** Sizes a canvas to its place on the screen; says whether it changed. */
export function sizeCanvas(canvas: HTMLCanvasElement, width_px: number, height_px: number, ratio: number): boolean {
  const [width, height] = [Math.max(1, Math.round(width_px * ratio)), Math.max(1, Math.round(height_px * ratio))];
  if (canvas.width === width && canvas.height === height) return false;
  canvas.width = width;
  canvas.height = height;
  canvas.style.width = `${width_px}px`;
  canvas.style.height = `${height_px}px`;
  return true;
}
