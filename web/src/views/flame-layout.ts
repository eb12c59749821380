import type { FlameAnswer, FlameNode, FlameRest } from "../api/types";
import { digits, percent } from "../shared/format";

/** A box of the flame graph: where it is, in shares of the width, and how deep. */
export interface FlameBox { node: FlameNode; path: string[]; left: number; width: number; depth: number; key: string }

/** All time that a flame graph divides, that of paths too small to be shown included. */
export function wholeOf({ total_ns, roots, rest }: FlameAnswer): number {
  return total_ns ?? roots.reduce((sum, node) => sum + node.value_ns, rest?.value_ns ?? 0);
}

/** Places nodes and what is inside them in a width that stands for `whole_ns`; boxes narrower than `least` of it are left out. */
export function flameBoxes(roots: readonly FlameNode[], least: number, whole_ns = 0): FlameBox[] {
  const boxes: FlameBox[] = [];
  const whole = Math.max(whole_ns, roots.reduce((sum, node) => sum + node.value_ns, 0));
  if (whole <= 0) return boxes;
  const place = (nodes: readonly FlameNode[], left: number, width: number, within: number, path: string[], key: string) => {
    const shown = [...nodes].sort((a, b) => b.value_ns - a.value_ns);
    const sum = Math.max(within, shown.reduce((total, node) => total + node.value_ns, 0));
    let at = left;
    shown.forEach((node, which) => {
      const wide = (node.value_ns / sum) * width;
      if (wide >= least) {
        const box = { node, path: [...path, node.name], left: at, width: wide, depth: path.length, key: `${key}/${which}` };
        boxes.push(box);
        place(node.children, at, wide, node.value_ns, box.path, box.key);
      }
      at += wide;
    });
  };
  place(roots, 0, 1, whole, [], "");
  return boxes;
}

/** The node at a path, as the address has it: names joined by `/`, each encoded. */
export function nodeAt(roots: readonly FlameNode[], path: readonly string[]): FlameNode | null {
  let nodes = roots;
  let found: FlameNode | null = null;
  for (const name of path) {
    found = nodes.find((node) => node.name === name) ?? null;
    if (!found) return null;
    nodes = found.children;
  }
  return found;
}

/** A time as a share of all; more than all is no per cent of it, since several of it ran at a time. */
export function shareText(value_ns: number, whole_ns: number): string {
  const share = whole_ns > 0 ? value_ns / whole_ns : 0;
  return share > 1.005 ? `${digits(share)} × all, several at a time` : `${percent(share)} of all`;
}

/** What is too small to be shown, of nodes and everything inside them: what the answer leaves out, and what has no box. */
export function restOf(nodes: readonly FlameNode[], own: FlameRest | null | undefined, boxes: readonly FlameBox[]): FlameRest {
  return restBeside(nodes, own, new Set(boxes.map(({ node }) => node)));
}

function restBeside(nodes: readonly FlameNode[], own: FlameRest | null | undefined, shown: ReadonlySet<FlameNode>): FlameRest {
  const sum = { paths: own?.paths ?? 0, value_ns: own?.value_ns ?? 0 };
  for (const node of nodes) {
    const inside = restBeside(node.children, node.rest, shown);
    const isShown = shown.has(node);
    sum.paths += inside.paths + (isShown ? 0 : 1);
    sum.value_ns += isShown ? inside.value_ns : node.value_ns;
  }
  return sum;
}
