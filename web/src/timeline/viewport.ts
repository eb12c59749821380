/** The stretch of time that is visible. */
export interface Viewport { readonly t0: number; readonly t1: number }

/** The closest look: this much time over the whole width. */
const LEAST_SPAN_NS = 20;
/** How much of a view may be beyond the run's ends. */
const BEYOND = 0.1;

/** The whole run with a little air. */
export function wholeRun(end_ns: number): Viewport {
  const air = Math.max(end_ns, 1) * 0.01;
  return { t0: -air, t1: Math.max(end_ns, 1) + air };
}

/** A view so wide with the run's end in it, and a little air after that. */
export function atEnd(width_ns: number, end_ns: number): Viewport {
  const t1 = end_ns + width_ns * 0.02;
  return { t0: t1 - width_ns, t1 };
}

/** The view kept to a sensible width and near the run. */
export function kept(view: Viewport, end_ns: number): Viewport {
  const most = Math.max(end_ns, LEAST_SPAN_NS) * (1 + 2 * BEYOND);
  const span = Math.min(Math.max(view.t1 - view.t0, LEAST_SPAN_NS), most);
  const middle = (view.t0 + view.t1) / 2;
  const air = Math.max(span * BEYOND, end_ns * 0.01);
  const lowest = -air;
  const highest = Math.max(end_ns + air - span, lowest);
  const t0 = Math.min(Math.max(middle - span / 2, lowest), highest);
  return { t0, t1: t0 + span };
}

/** Zooms by a factor (below 1: in) so that the moment `at` stays where it is. */
export function zoomed(view: Viewport, at: number, factor: number): Viewport {
  return { t0: at - (at - view.t0) * factor, t1: at + (view.t1 - at) * factor };
}

/** Moves by a share of the visible time. */
export function panned(view: Viewport, share: number): Viewport {
  const by = (view.t1 - view.t0) * share;
  return { t0: view.t0 + by, t1: view.t1 + by };
}

/** A view in which a stretch fills most of the width. */
export function fitted(start_ns: number, end_ns: number): Viewport {
  const air = Math.max((end_ns - start_ns) * 0.08, 1);
  return { t0: start_ns - air, t1: end_ns + air };
}

/** A view as wide as this one with a stretch in its middle. */
export function centred(view: Viewport, start_ns: number, end_ns: number): Viewport {
  const half = (view.t1 - view.t0) / 2;
  const middle = (start_ns + end_ns) / 2;
  return { t0: middle - half, t1: middle + half };
}
