import type { ComponentChildren } from "preact";
import { isShareFile } from "../api/inline";
import { viewLink } from "../state/route";

interface Props { run: string; name: string; class?: string; title?: string; children: ComponentChildren }

/** A name that leads to where it is on the timeline; in a shared file, which cannot be searched, a name only. */
export function FindLink({ run, name, children, ...rest }: Props) {
  return isShareFile() ? <span {...rest}>{children}</span> : <a {...rest} href={viewLink("timeline", run, { q: name })}>{children}</a>;
}
