import type { Tag } from "../api/types";

/** The tag of one scope, or what is known of the tags of several. */
export function tagText(tag: string | Tag | null | undefined): string | null {
  if (tag === null || tag === undefined) return null;
  if (typeof tag === "string") return tag || null;
  return tag.one ?? (tag.many ? `${tag.many} tags` : null);
}
