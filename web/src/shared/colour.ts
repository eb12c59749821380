import type { Theme } from "../state/theme";

export type Rgb = readonly [number, number, number];

/** Fills that stay apart for colour-blind eyes; near-black text reads on all of them. */
const FILLS: Record<Theme, readonly string[]> = {
  dark: ["#6a9fd8", "#dba158", "#5fb596", "#d57f92", "#a593d6", "#d3c35c", "#58b8cc", "#b08968", "#9cc25c", "#c884c6", "#8ba0b8", "#e2856a"],
  light: ["#9cc3ea", "#f2c288", "#97d5bb", "#efaab7", "#c9bbec", "#e9dd8c", "#94d3df", "#d4b79b", "#c0dd94", "#deabda", "#b4c4d6", "#f3ac97"],
};
/** Text on a fill. */
export const FILL_TEXT = "#0d1117";

/** Chosen so that scopes which usually stand side by side (data_wait, forward, backward, ...) get different fills. */
const SEED = 4322;

/** A number that a text always has. */
export function hash(text: string): number {
  let value = SEED;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  return (value ^ (value >>> 15)) >>> 0;
}

/** The fill that a name has in every view. */
export function fillOf(name: string, theme: Theme): string {
  const fills = FILLS[theme];
  return fills[hash(name) % fills.length] as string;
}

const parsed = new Map<string, Rgb>();

/** Red, green and blue of `#rrggbb`, 0 to 255. */
export function rgb(colour: string): Rgb {
  let value = parsed.get(colour);
  if (!value) {
    const n = Number.parseInt(colour.slice(1), 16);
    value = [n >> 16, (n >> 8) & 255, n & 255];
    parsed.set(colour, value);
  }
  return value;
}

const WAITS = /wait|idle|queue_(full|empty)|synchroni[sz]e|\bsync\b|sleep|blocked|stall|acquire|DataLoader/i;

/** Whether a scope's name says that it waits: drawn hatched, not by hue alone. */
export function isWait(name: string): boolean {
  return WAITS.test(name);
}

/** Fills of what time went to; the same in all charts. */
export const CAUSE_FILL: Record<string, string> = {
  computing: "var(--c-computing)",
  gpu: "var(--c-computing)",
  cpu: "var(--c-host)",
  host: "var(--c-host)",
  input: "var(--c-input)",
  launch: "var(--c-launch)",
  sync: "var(--c-sync)",
  copy: "var(--c-copy)",
  waiting: "var(--c-waiting)",
  unknown: "var(--c-unknown)",
};

/** What the causes are called in sentences. */
export const CAUSE_WORDS: Record<string, string> = {
  computing: "GPU computing",
  gpu: "GPU computing",
  cpu: "on the CPU",
  host: "host work",
  input: "waiting for input",
  launch: "launch",
  sync: "waiting for the GPU",
  copy: "copies",
  waiting: "waiting, off the CPU",
  unknown: "unknown",
};
