/** Frames kept by the meter. */
const KEPT = 4096;

/** Measures how long the page's own part of each frame takes; the browser's trace has the rest. */
export class FrameMeter {
  private readonly times = new Float64Array(KEPT);
  private frames = 0;

  /** Runs a frame and notes how long it took. */
  measure(frame: () => void): void {
    const from = performance.now();
    frame();
    this.times[this.frames++ % KEPT] = performance.now() - from;
  }

  /** Work per frame in milliseconds at a share of all frames, and how many there were. */
  summary(): { frames: number; p50_ms: number; p95_ms: number; max_ms: number } {
    const kept = this.times.slice(0, Math.min(this.frames, KEPT)).sort();
    const at = (share: number) => kept[Math.min(kept.length - 1, Math.floor(kept.length * share))] ?? 0;
    return { frames: this.frames, p50_ms: at(0.5), p95_ms: at(0.95), max_ms: at(1) };
  }

  reset(): void {
    this.frames = 0;
  }
}
