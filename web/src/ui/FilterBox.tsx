import { terms } from "../shared/filter";
import { route, type View } from "../state/route";
import { useTyped } from "./typed";

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
  // What is typed stays as it is where the address says the same: a blank at its end is the way to the next condition.
  const { text, applied, type, put, leave } = useTyped("filter", PAUSE_MS, (typed) => typed.trim());
  const isUnused = UNFILTERED.includes(route.value.view);
  const example = route.value.view === "runs" ? EXAMPLE_OF_RUNS : EXAMPLE;
  // What is left unfinished is not applied, what was typed before it is: the box says what the numbers are of.
  const left = () => {
    if (!UNFINISHED.test(text)) return leave();
    const finished = terms(text.replace(UNFINISHED, "")).slice(0, -1).join(" ");
    // A value that was only taken away from what is applied goes back to it.
    put(finished === "" || applied.startsWith(text.trim()) ? applied : finished);
  };
  return (
    <form class={"filter" + (applied && !isUnused ? " on" : "")} role="search" onSubmit={(event) => { event.preventDefault(); put(text); }}>
      <input
        type="text" id="filter" value={text} spellcheck={false} autocomplete="off" aria-label="Filter by attribute"
        placeholder={isUnused ? "This view has no filter" : example.text} disabled={isUnused && !text}
        title={example.hint}
        // Enter applies what is unfinished all the same.
        onInput={(event) => type(event.currentTarget.value, !UNFINISHED.test(event.currentTarget.value))}
        // Who goes to another window and comes back types on.
        onBlur={(event) => { if (document.activeElement !== event.currentTarget) left(); }}
        onKeyDown={(event) => { if (event.key === "Escape") { event.currentTarget.blur(); event.stopPropagation(); } }}
      />
      {applied && isUnused && <span class="faint">not used in this view</span>}
      {text && <button type="button" class="plain clear" aria-label="Clear the filter" onClick={() => put("")}>×</button>}
    </form>
  );
}
