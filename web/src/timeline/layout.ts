import type { Track } from "../api/types";

/** Height of one depth of a track. */
export const ROW_PX = 18;
const TRACK_AIR_PX = 6;
const LEAST_TRACK_PX = 26;
const SERIES_PX = 46;
const MARKS_PX = 34;
export const GROUP_PX = 24;
/** Depths shown of a track that is folded. */
const FOLDED_DEPTHS = 1;

/** A line of the timeline: the heading of a process or machine, or a track. */
export interface Line {
  readonly kind: "group" | "track";
  readonly key: string;
  readonly title: string;
  readonly top: number;
  readonly height: number;
  readonly folded: boolean;
  readonly track: Track | null;
  /** Depths that are shown. */
  readonly depths: number;
  /** Tracks under a heading. */
  readonly members: number;
}

/** Whether a track is made of boxes, not a curve. */
export function hasBoxes({ kind }: Track): boolean {
  return kind === "thread" || kind === "stream";
}

export interface Layout { readonly lines: Line[]; readonly height: number }

/** Heading a track stands under; where the run has several hosts, with the name of its own. */
export function groupOf(track: Track, namesHost = false): { key: string; title: string } {
  const process = typeof track.process === "string" && track.process !== "" ? track.process : null;
  if (track.kind === "series") {
    const machine = track.host ?? process ?? "";
    return { key: `machine ${machine}`, title: `Machine ${machine}`.trim() };
  }
  const hasPid = track.pid !== null && track.pid !== undefined;
  if (track.kind === "marks" && !hasPid) return { key: "marks", title: "Marks" };
  const words = [track.rank === null || track.rank === undefined ? null : `rank ${track.rank}`, process ?? "process", namesHost ? track.host || null : null, hasPid ? `pid ${track.pid}` : null];
  // Processes of two hosts may have one number.
  const key = ["process", track.process, track.pid, track.host, track.process_index].filter((part) => part !== undefined);
  return { key: key.join(" "), title: words.filter((word) => word !== null).join(" · ") };
}

/** Places the tracks under their headings, in the order the server gives. */
export function layOut(tracks: readonly Track[], folded: ReadonlySet<string>): Layout {
  const groups = new Map<string, { title: string; tracks: Track[] }>();
  const hosts = new Set(tracks.filter(hasBoxes).map(({ host }) => host));
  for (const track of tracks) {
    const { key, title } = groupOf(track, hosts.size > 1);
    const group = groups.get(key) ?? { title, tracks: [] };
    group.tracks.push(track);
    groups.set(key, group);
  }
  const lines: Line[] = [];
  let top = 0;
  const add = (line: Omit<Line, "top">) => {
    lines.push({ ...line, top });
    top += line.height;
  };
  for (const [key, group] of groups) {
    const isFolded = folded.has(key);
    add({ kind: "group", key, title: group.title, height: GROUP_PX, folded: isFolded, track: null, depths: 0, members: group.tracks.length });
    if (!isFolded) for (const track of group.tracks) add(trackLine(track, folded.has(trackKey(track))));
  }
  return { lines, height: top };
}

/** The key by which a track is folded. */
export function trackKey(track: Track): string {
  return `track ${track.id}`;
}

function trackLine(track: Track, folded: boolean): Omit<Line, "top"> {
  const all = Math.max(1, track.depths);
  const depths = folded ? Math.min(FOLDED_DEPTHS, all) : all;
  return { kind: "track", key: trackKey(track), title: track.name, height: trackHeight(track, depths, folded), folded, track, depths, members: 0 };
}

function trackHeight(track: Track, depths: number, folded: boolean): number {
  if (track.kind === "series") return folded ? LEAST_TRACK_PX : SERIES_PX;
  if (track.kind === "marks") return folded ? LEAST_TRACK_PX : MARKS_PX;
  return Math.max(LEAST_TRACK_PX, depths * ROW_PX + TRACK_AIR_PX);
}

/** Where the boxes of a depth begin. */
export function rowTop(line: Line, depth: number): number {
  return line.top + TRACK_AIR_PX / 2 + Math.min(depth, line.depths - 1) * ROW_PX;
}

/** The lines that touch a stretch of pixels. */
export function linesIn(layout: Layout, from: number, to: number): Line[] {
  return layout.lines.filter((line) => line.top + line.height > from && line.top < to);
}

/** The line at a pixel, and the depth there. */
export function lineAt(layout: Layout, y: number): { line: Line; depth: number } | null {
  const line = layout.lines.find((each) => y >= each.top && y < each.top + each.height);
  if (!line) return null;
  return { line, depth: Math.floor((y - line.top - TRACK_AIR_PX / 2) / ROW_PX) };
}
