import { isShareFile } from "../api/inline";
import type { Report } from "../api/types";
import { many } from "../shared/format";

/** How many paths of scopes an answer leaves out, and where they are to be had; nothing where it has all of them. */
export function leftOutWords(leftOut: number | undefined, isFile: boolean): string | null {
  if (!leftOut) return null;
  const paths = `${many(leftOut, "path")} of scopes ${leftOut === 1 ? "is" : "are"} not in this`;
  return isFile ? `${paths} file: hodo view on the run shows more.` : `${paths} answer: a filter or a range narrows it, and SQL has all of them.`;
}

/** The same for a report. */
export function leftOut(report: Report): string | null {
  return leftOutWords(report.nodes_left_out, isShareFile());
}

export function LeftOut({ report }: { report: Report }) {
  const words = leftOut(report);
  return words && <p class="note small">{words}</p>;
}
