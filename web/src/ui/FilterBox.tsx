import { useEffect, useRef, useState } from "preact/hooks";
import { terms } from "../shared/filter";
import { route, setParams, type View } from "../state/route";

const PAUSE_MS = 450;
/** Views whose numbers no scope's attributes divide: the filter stays in the address for the others. */
const UNFILTERED: readonly View[] = ["system", "compare", "sql"];

/** A condition without its value, which is on the way to one. */
const UNFINISHED = /[=!<>]\s*$/;

/** What the box suggests; the list of runs is filtered by what a row of it has, not by attributes of scopes. */
const EXAMPLE = { text: "Filter: variant=beam-search index>100", hint: "Conditions on attributes, all of them required: variant=beam index>100 loss<=0.5 mode!=eval" };
const EXAMPLE_OF_RUNS = { text: "Filter: app=train host=gpu1", hint: "Conditions on runs, all of them required: app=train host=gpu1 rank=0 scopes>1000 state=finished" };

/** The filter of every view: conditions on attributes, kept in the address. */
export function FilterBox() {
  const applied = route.value.params.filter ?? "";
  const isUnused = UNFILTERED.includes(route.value.view);
  const example = route.value.view === "runs" ? EXAMPLE_OF_RUNS : EXAMPLE;
  const [text, setText] = useState(applied);
  const timer = useRef<number | undefined>(undefined);
  // What is typed stays as it is where the address says the same: a blank at its end is the way to the next condition.
  useEffect(() => { if (applied !== text.trim()) setText(applied); }, [applied]);
  const apply = (value: string) => {
    clearTimeout(timer.current);
    setParams({ filter: value.trim() });
  };
  const typed = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    // Enter applies what is unfinished all the same.
    if (!UNFINISHED.test(value)) timer.current = window.setTimeout(() => apply(value), PAUSE_MS);
  };
  // What is left unfinished is not applied, what was typed before it is: the box says what the numbers are of.
  const left = () => {
    if (!UNFINISHED.test(text)) return;
    const finished = terms(text.replace(UNFINISHED, "")).slice(0, -1).join(" ");
    // A value that was only taken away from what is applied goes back to it.
    const kept = finished === "" || applied.startsWith(text.trim()) ? applied : finished;
    setText(kept);
    apply(kept);
  };
  return (
    <form class={"filter" + (applied && !isUnused ? " on" : "")} role="search" onSubmit={(event) => { event.preventDefault(); apply(text); }}>
      <input
        type="text" id="filter" value={text} spellcheck={false} autocomplete="off" aria-label="Filter by attribute"
        placeholder={isUnused ? "This view has no filter" : example.text} disabled={isUnused && !text}
        title={example.hint}
        onInput={(event) => typed(event.currentTarget.value)}
        onBlur={left}
        onKeyDown={(event) => { if (event.key === "Escape") { event.currentTarget.blur(); event.stopPropagation(); } }}
      />
      {applied && isUnused && <span class="faint">not used in this view</span>}
      {text && <button type="button" class="plain clear" aria-label="Clear the filter" onClick={() => { setText(""); apply(""); }}>×</button>}
    </form>
  );
}
