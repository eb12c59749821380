import type { Placed, SearchAnswer } from "../api/types";

/** Questions after which a place before is no longer looked for more exactly. */
const MOST_GUESSES = 60;

/** What is asked for: the first hits from a moment on, at most `limit`, and how many there are in all. */
export interface Question { readonly limit: number; ask(after_ns: number): Promise<SearchAnswer> }

/** The hits of a search as a ring that is walked; a page of them is here at a time. */
export class Hits {
  total = 0;
  private page: Placed[] = [];
  private after_ns = 0;
  /** Hits before the page; `null` where that is not known. */
  private before: number | null = 0;
  private at = -1;
  /** What is done now: one thing after the other, so that a walk begins once the first answer is there. */
  private turn: Promise<unknown> = Promise.resolve();
  /** The next look at what is new, until it begins. */
  private waiting: Promise<void> | null = null;

  constructor(private readonly question: Question) {}

  /** The hit that was walked to. */
  get current(): Placed | null {
    return this.page[this.at] ?? null;
  }

  /** Which one it is, from 1 on; `null` where that is not known. */
  get number(): number | null {
    return this.before === null || this.at < 0 ? null : this.before + this.at + 1;
  }

  /** Asks again, and stays at the hit that was walked to; one that has not begun yet is enough for all who want it. */
  refresh(): Promise<void> {
    this.waiting ??= this.inTurn(async () => {
      this.waiting = null;
      const { current } = this;
      await this.load(this.after_ns);
      this.at = current ? this.placeOf(current) : -1;
    });
    return this.waiting;
  }

  /** Walks on or back; at first to the hit next to a moment. */
  move(by: 1 | -1, from_ns: number, end_ns: number): Promise<Placed | null> {
    return this.inTurn(async () => {
      if (this.total === 0) return null;
      if (!this.current) await this.begin(by, from_ns, end_ns);
      else if (by > 0) await this.on();
      else await this.back(end_ns);
      return this.current;
    });
  }

  private inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.turn.then(act);
    this.turn = done.catch(() => undefined);
    return done;
  }

  private get isFull(): boolean {
    return this.page.length >= this.question.limit;
  }

  /** How long the page is: hits before it are likely as dense. */
  private get extent_ns(): number {
    return (this.page[this.page.length - 1]?.start_ns ?? 0) - (this.page[0]?.start_ns ?? 0);
  }

  private async begin(by: 1 | -1, from_ns: number, end_ns: number): Promise<void> {
    const last = this.page[this.page.length - 1];
    if (this.isFull && (from_ns < this.after_ns || !last || last.start_ns < from_ns)) await this.load(from_ns);
    const first = this.page.findIndex(({ start_ns }) => start_ns >= from_ns);
    if (first < 0 && by > 0) return this.first();
    this.at = first < 0 ? this.page.length : first;
    if (by < 0) await this.back(end_ns);
  }

  private async on(): Promise<void> {
    if (this.at + 1 < this.page.length) this.at++;
    else if (this.isFull) await this.nextPage();
    else await this.first();
  }

  private async first(): Promise<void> {
    if (this.after_ns > 0) await this.load(0);
    this.at = 0;
  }

  private async nextPage(): Promise<void> {
    const last = this.page[this.at]!;
    const passed = this.number;
    await this.load(last.start_ns);
    const place = this.placeOf(last);
    // More of one moment than a page has: the rest of them cannot be told apart by time.
    if (place + 1 >= this.page.length && this.isFull) await this.load(last.start_ns + 1);
    if (this.page.length === 0 || place + 1 >= this.page.length) return this.first();
    this.at = place + 1;
    this.before ??= passed === null ? null : passed - this.at;
  }

  private async back(end_ns: number): Promise<void> {
    if (this.at > 0) this.at--;
    else if (this.after_ns > 0 && this.before !== 0) await this.pageBefore(this.current, end_ns);
    else if (!this.isFull) this.at = this.page.length - 1;
    else await this.pageBefore(null, end_ns);
  }

  /** Loads a page that ends with a hit, or with the last of all, and has some before it; there is no way to ask backwards. */
  private async pageBefore(hit: Placed | null, end_ns: number): Promise<void> {
    const passed = hit && this.number;
    const to_ns = hit?.start_ns ?? end_ns + 1;
    let [least_ns, most_ns] = [0, Infinity];
    let width_ns = Math.max(1, (hit ? this.extent_ns : (end_ns * this.question.limit) / this.total) * 0.5);
    for (let guess = 0; guess < MOST_GUESSES; guess++) {
      await this.load(Math.max(0, Math.floor(to_ns - width_ns)));
      const place = hit ? this.placeOf(hit) : this.isFull ? -1 : this.page.length;
      if (place > 0) {
        this.at = place - 1;
        this.before ??= passed === null ? null : passed - place - 1;
        return;
      }
      if (place === 0 && this.after_ns === 0) return this.pageBefore(null, end_ns);
      if (place === 0) least_ns = width_ns;
      else most_ns = width_ns;
      width_ns = most_ns === Infinity ? width_ns * 4 : (least_ns + most_ns) / 2;
    }
    this.at = this.page.length - 1;
  }

  private async load(after_ns: number): Promise<void> {
    const { hits, total } = await this.question.ask(Math.max(0, Math.floor(after_ns)));
    this.page = hits;
    this.total = total;
    this.after_ns = Math.max(0, Math.floor(after_ns));
    this.before = this.after_ns === 0 ? 0 : this.isFull ? null : total - hits.length;
    this.at = -1;
  }

  private placeOf(hit: Placed): number {
    return this.page.findIndex(({ id, track }) => id === hit.id && track === hit.track);
  }
}
