import { count } from "../shared/format";

/** How many there are, and where not all of them are listed, which: `first 100 of 3 378`. */
export function listed(which: "first" | "longest", shown: number, all: number | null | undefined): string {
  return shown < (all ?? shown) ? `${which} ${count(shown)} of ${count(all)}` : count(shown);
}
