import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isShareFile } from "../api/inline";
import { csv } from "../shared/csv";
import { hasWords } from "../shared/filter";
import { count, cut, plain } from "../shared/format";
import { route, setParams, viewLink } from "../state/route";
import { CopyButton } from "./CopyButton";
import { readSort, sortRows, type Sortable } from "./rows";

/** A column: what it sorts and copies by, and how a cell looks. */
export interface Column<Row> {
  key: string;
  /** Empty for what is no number or word: it neither sorts nor is copied. */
  title: string;
  hint?: string;
  isNumber?: boolean;
  /** What a row is called, as long as a program made it: stays in view, and is cut so that the numbers are too. */
  isName?: boolean;
  /** A text that is cut likewise, and moves with the numbers. */
  isLong?: boolean;
  value: (row: Row) => Sortable;
  /** Is told whether all rows stand in the order in which they were given. */
  cell?: (row: Row, isAsGiven: boolean) => ComponentChildren;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  /** Column to sort by at first, `-` before it for downwards; empty keeps the given order. */
  sort: string;
  /** Parameter of the address that keeps the order; none keeps it for the moment only. */
  sortParam?: string;
  /** Words that the box above the table looks for in a row; without it there is no box. */
  words?: (row: Row) => (string | null)[];
  sql?: string;
  onPick?: (row: Row) => void;
  isPicked?: (row: Row) => boolean;
  children?: ComponentChildren;
  /** What stands where there are no rows. */
  empty?: string;
}

const FIRST_ROWS = 100;

/** A table that sorts, finds, copies as CSV and says by which SQL the same is had. */
export function DataTable<Row>(props: Props<Row>) {
  const { columns, rows, sortParam } = props;
  const [ownSort, setOwnSort] = useState(props.sort);
  const [words, setWords] = useState("");
  const [most, setMost] = useState(FIRST_ROWS);
  const sort = readSort(sortParam ? route.value.params[sortParam] : ownSort, props.sort);
  const column = columns.find(({ key }) => key === sort.key);
  const found = words && props.words ? rows.filter((row) => hasWords(words, props.words?.(row) ?? [])) : rows;
  const ordered = column ? sortRows(found, column.value, sort.isDescending) : found;
  const order = (next: Column<Row>) => {
    const downFirst = next.isNumber === true;
    const isSorted = sort.key === next.key;
    const down = isSorted ? !sort.isDescending : downFirst;
    // Rows that have an order of their own come back to it by a third click.
    const isThird = isSorted && down === downFirst && !props.sort;
    const text = isThird ? "" : (down ? "-" : "") + next.key;
    if (sortParam) setParams({ [sortParam]: text });
    else setOwnSort(text);
  };
  const copied = columns.filter(({ title }) => title);
  const text = () => csv(copied.map(({ key }) => key), ordered.map((row) => copied.map(({ value }) => value(row))));
  return (
    <div class="table-part">
      <div class="row wrap table-bar">
        {props.words && <input type="search" size={Math.max(18, props.label.length + 9)} value={words} placeholder={`Find in ${props.label}`} aria-label={`Find in ${props.label}`} onInput={(event) => setWords(event.currentTarget.value)} />}
        <span class="muted">{count(ordered.length)}{ordered.length !== rows.length ? ` of ${count(rows.length)}` : ""}</span>
        {props.children}
        <span class="grow" />
        <CopyButton label="Copy as CSV" text={text} />
        {props.sql && <ShowSql sql={props.sql} />}
      </div>
      <div class="table-scroll">
        <table aria-label={props.label}>
          <thead><tr>{columns.map((each) => <Heading key={each.key} column={each} sort={sort} order={order} />)}</tr></thead>
          <tbody>
            {ordered.slice(0, most).map((row) => (
              <tr class={(props.onPick ? "pickable" : "") + (props.isPicked?.(row) ? " picked" : "")} onClick={props.onPick ? () => props.onPick?.(row) : undefined}>
                {columns.map((each) => <td class={classOf(each)} title={wholeText(each, row)}>{each.cell ? each.cell(row, !column && !words) : String(each.value(row) ?? "–")}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && props.empty && <p class="muted">{props.empty}</p>}
      {ordered.length > most && <button class="more" onClick={() => setMost(most * 5)}>Show {count(Math.min(most * 4, ordered.length - most))} more</button>}
    </div>
  );
}

function classOf<Row>({ isNumber, isName, isLong }: Column<Row>): string {
  return isNumber ? "num" : isName ? "name" : isLong ? "long" : "";
}

/** What a cell that may be cut says in full. */
function wholeText<Row>({ isName, isLong, value }: Column<Row>, row: Row): string | undefined {
  const text = isName || isLong ? value(row) : null;
  return typeof text === "string" ? cut(plain(text), 4000) : undefined;
}

function Heading<Row>({ column, sort, order }: { column: Column<Row>; sort: { key: string; isDescending: boolean }; order: (column: Column<Row>) => void }) {
  const isSorted = sort.key === column.key;
  if (!column.title) return <th><span class="sr">{column.key}</span></th>;
  return (
    <th class={classOf(column)} aria-sort={isSorted ? (sort.isDescending ? "descending" : "ascending") : undefined} title={column.hint}>
      <button class="th" onClick={() => order(column)}>{column.title}<span class="arrow" aria-hidden="true">{isSorted ? (sort.isDescending ? "▾" : "▴") : ""}</span></button>
    </th>
  );
}

function ShowSql({ sql }: { sql: string }) {
  const [isOpen, setOpen] = useState(false);
  const { filter, t0, t1 } = route.value.params;
  const narrowed = [filter && "filter", (t0 || t1) && "range"].filter(Boolean).join(" and ");
  return (
    <>
      <button class="plain" aria-expanded={isOpen} title={`The SQL that gives the same${narrowed ? " of the whole run" : ""}`} onClick={() => setOpen(!isOpen)}>SQL</button>
      {isOpen && (
        <pre class="sql-behind">
          <code>{sql}</code>
          {narrowed && <span class="row warn">This is of the whole run: the {narrowed} {narrowed.includes(" ") ? "are" : "is"} not in it.</span>}
          <span class="row"><CopyButton label="Copy" text={() => sql} />{!isShareFile() && <a href={viewLink("sql", route.value.run, { query: sql })}>Ask it</a>}</span>
        </pre>
      )}
    </>
  );
}
