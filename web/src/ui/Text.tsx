import { cut, cutStart, plain } from "../shared/format";

const MOST_SIGNS = 400;

/** A name that a program gave: shown as text, whatever is in it. */
export function Name({ text, tag }: { text: string; tag?: string | null }) {
  const shown = plain(text);
  return (
    <>
      <bdi title={shown.length > 40 ? cut(shown, 4000) : undefined}>{cut(shown, MOST_SIGNS)}</bdi>
      {tag ? <> <span class="tag">{cut(plain(tag), 80)}</span></> : null}
    </>
  );
}

/** A path of scopes, the last name most visible. */
export function Path({ path }: { path: string[] | string | null }) {
  const names = typeof path === "string" ? path.split("/") : (path ?? []);
  if (names.length === 0) return <span class="faint">(outside any scope)</span>;
  const last = names[names.length - 1] ?? "";
  return (
    <span class="path" title={cut(names.map(plain).join(" / "), 4000)}>
      <bdi dir="ltr">
        {names.length > 1 && <span class="faint">{cutStart(names.slice(0, -1).map(plain).join(" / "), MOST_SIGNS)} / </span>}
        <bdi>{cut(plain(last), MOST_SIGNS)}</bdi>
      </bdi>
    </span>
  );
}
