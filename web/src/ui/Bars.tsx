import { CAUSE_FILL, CAUSE_WORDS } from "../shared/colour";
import { duration, percent } from "../shared/format";

/** A thin bar of a share, from 0 to 1. */
export function ShareBar({ share, fill = "var(--c-host)" }: { share: number; fill?: string }) {
  return <span class="share-bar" aria-hidden="true"><span style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%`, background: fill }} /></span>;
}

export interface Part { key: string; ns: number; title?: string }

/** Time divided among causes: one bar and its legend; hatched where nothing worked. */
export function SplitBar({ parts, label }: { parts: Part[]; label: string }) {
  const whole = parts.reduce((sum, part) => sum + part.ns, 0);
  const shown = parts.filter((part) => part.ns > 0);
  if (whole === 0) return null;
  return (
    <div role="img" aria-label={`${label}: ${shown.map((part) => `${words(part)} ${percent(part.ns / whole)}`).join(", ")}`}>
      <div class="split-bar">
        {shown.map((part) => (
          <span class={isHatched(part.key) ? "hatched" : ""} style={{ flexGrow: part.ns, backgroundColor: CAUSE_FILL[part.key] ?? "var(--c-unknown)" }} title={`${words(part)}: ${duration(part.ns)}, ${percent(part.ns / whole)}`}>
            {part.ns / whole > 0.06 ? percent(part.ns / whole) : ""}
          </span>
        ))}
      </div>
      <div class="legend">
        {shown.map((part) => (
          <span class="row"><span class={"swatch" + (isHatched(part.key) ? " hatched" : "")} style={{ backgroundColor: CAUSE_FILL[part.key] ?? "var(--c-unknown)" }} />{words(part)} <b>{percent(part.ns / whole)}</b> <span class="faint">{duration(part.ns)}</span></span>
        ))}
      </div>
    </div>
  );
}

const words = (part: Part): string => part.title ?? CAUSE_WORDS[part.key] ?? part.key;
const isHatched = (cause: string): boolean => ["input", "waiting", "sync", "unknown"].includes(cause);

/** A small curve of a few values. */
export function Sparkline({ values, width = 110, height = 22, label }: { values: (number | null)[]; width?: number; height?: number; label: string }) {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  if (known.length < 2) return <span class="faint">–</span>;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (at: number) => 1 + (at / (values.length - 1)) * (width - 2);
  const y = (value: number) => height - 2 - ((value - low) / (high - low || 1)) * (height - 4);
  let path = "";
  values.forEach((value, at) => {
    if (value === null || !Number.isFinite(value)) return;
    path += `${path && values[at - 1] !== null ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return <svg class="spark" width={width} height={height} role="img" aria-label={label}><path d={path} fill="none" stroke="var(--c-input)" stroke-width="1.5" /></svg>;
}

/** How often durations of each length occur. */
export function Histogram({ edges_ns, counts, mark_ns }: { edges_ns: number[]; counts: number[]; mark_ns?: number }) {
  const most = Math.max(1, ...counts);
  const [width, height] = [320, 72];
  const step = width / Math.max(1, counts.length);
  const at = mark_ns === undefined ? -1 : counts.findIndex((_, which) => mark_ns <= (edges_ns[which + 1] ?? Infinity));
  const middle = edges_ns[Math.floor(edges_ns.length / 2)];
  return (
    <figure class="histogram">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Durations from ${duration(edges_ns[0])} to ${duration(edges_ns[edges_ns.length - 1])}`}>
        {counts.map((each, which) => {
          const tall = each === 0 ? 0 : Math.max(1.5, (each / most) * (height - 6));
          return <rect x={which * step + 0.5} y={height - tall} width={Math.max(1, step - 1)} height={tall} fill={which === at ? "var(--accent)" : "var(--c-unknown)"}><title>{`${each} between ${duration(edges_ns[which])} and ${duration(edges_ns[which + 1])}`}</title></rect>;
        })}
      </svg>
      <figcaption class="row faint"><span>{duration(edges_ns[0])}</span><span class="grow center">{duration(middle)}</span><span>{duration(edges_ns[edges_ns.length - 1])}</span></figcaption>
    </figure>
  );
}
