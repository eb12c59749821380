import { useEffect, useRef, useState } from "preact/hooks";
import { route, setParams } from "../state/route";

const PAUSE_MS = 450;

/** The filter of every view: conditions on attributes, kept in the address. */
export function FilterBox() {
  const applied = route.value.params.filter ?? "";
  const [text, setText] = useState(applied);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => setText(applied), [applied]);
  const apply = (value: string) => {
    clearTimeout(timer.current);
    setParams({ filter: value.trim() });
  };
  const typed = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => apply(value), PAUSE_MS);
  };
  return (
    <form class={"filter" + (applied ? " on" : "")} role="search" onSubmit={(event) => { event.preventDefault(); apply(text); }}>
      <input
        type="text" id="filter" value={text} spellcheck={false} autocomplete="off" aria-label="Filter by attribute"
        placeholder="Filter: variant=beam-search index>100"
        title="Conditions on attributes, all of them required: variant=beam index>100 loss<=0.5 mode!=eval"
        onInput={(event) => typed(event.currentTarget.value)}
        onKeyDown={(event) => { if (event.key === "Escape") { event.currentTarget.blur(); event.stopPropagation(); } }}
      />
      {text && <button type="button" class="plain clear" aria-label="Clear the filter" onClick={() => { setText(""); apply(""); }}>×</button>}
    </form>
  );
}
