import { getBytes, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import { Lru } from "../shared/lru";
import type { Wish } from "./pieces";
import { coarser, keyText, tileSpan, type TileKey } from "./tile-key";
import { decodeTiles, type Tile } from "./tile";

/** Tiles that are kept, where not more than that are wanted. */
const KEPT_TILES = 600;
/** Requests at once: a browser opens six connections, and growth and panels need some. */
const AT_ONCE = 4;
/** Tracks of one request: fewer requests are less work, smaller ones are there sooner. */
const TOGETHER = 8;
const COARSER_STEPS = 26;

/** What one request asks for, and as what the run was then. */
interface Request { readonly keys: readonly TileKey[]; readonly abort: AbortController; readonly version: number }
/** A tile and its key, and the version of the run that it is of. */
interface Held { readonly text: string; readonly tile: Tile; readonly version: number }

/** The tiles of a run: asked for as they are wanted, kept while they may be wanted again. */
export class TileStore {
  private readonly tiles = new Lru<string, Held>(KEPT_TILES);
  /** The tile of the whole run by track: it stands in for all others. */
  private readonly whole = new Lru<string, Held>(KEPT_TILES);
  /** Counts how often the run has changed: older tiles are drawn until newer ones are there. */
  private version = 0;
  /** Where the run ends: a first tile that reaches so far holds all of it. */
  end_ns = Infinity;
  /** The request that each awaited tile is in. */
  private readonly asked = new Map<string, Request>();
  private requests = 0;
  private queue: TileKey[] = [];
  /** Told when all that is wanted is there. */
  rested: () => void = () => undefined;
  private failed = new Set<string>();

  constructor(
    private readonly run: string,
    private readonly filter: () => string,
    private readonly arrived: (key: TileKey) => void,
    private readonly refused: (error: Error) => void,
    /** Told when the server answers again after it did not. */
    private readonly recovered: () => void,
  ) {}

  /** The tile, or the finest coarser one here, or that of the whole run. */
  best(key: TileKey): Tile | undefined {
    let at = key;
    for (let step = 0; step < COARSER_STEPS; step++) {
      const held = this.tiles.get(keyText(at));
      if (held) return held.tile;
      at = coarser(at);
    }
    return this.whole.get(key.track)?.tile;
  }

  /** Asks for what is missing of these, most wanted first, and stops asking for everything else. */
  want(wishes: readonly Wish[]): void {
    const wanted = new Map<string, Wish>();
    for (const wish of wishes) if (!wanted.has(keyText(wish))) wanted.set(keyText(wish), wish);
    // What is wanted stays: it would be asked for again as soon as it were forgotten.
    this.tiles.most = this.whole.most = Math.max(KEPT_TILES, 2 * wanted.size);
    for (const { keys: inside, abort } of new Set(this.asked.values())) {
      if (inside.some((key) => wanted.has(keyText(key)))) continue;
      for (const key of inside) this.asked.delete(keyText(key));
      abort.abort();
    }
    this.queue = [...wanted].filter(([text, wish]) => !this.asked.has(text) && !this.failed.has(text) && !this.has(text, wish)).map(([, wish]) => wish);
    this.pump();
  }

  /** Whether there is a tile as it is wished for. */
  private has(text: string, { track, isSeen }: Wish): boolean {
    const whole = this.whole.get(track);
    const held = this.tiles.get(text) ?? (whole?.text === text ? whole : undefined);
    return held !== undefined && (!isSeen || held.version === this.version);
  }

  /** Whether nothing is being asked for. */
  get settled(): boolean {
    return this.queue.length === 0 && this.asked.size === 0;
  }

  private pump(): void {
    while (this.requests < AT_ONCE && this.queue.length > 0) void this.load(this.next());
  }

  /** The most wanted tiles, taken from the queue: of one window, as many tracks as one request may have. */
  private next(): TileKey[] {
    const { res_ns, index } = this.queue[0]!;
    const most = isShareFile() ? 1 : TOGETHER;
    const keys: TileKey[] = [];
    this.queue = this.queue.filter((key) => {
      const isTaken = keys.length < most && key.res_ns === res_ns && key.index === index && !keys.some(({ track }) => track === key.track);
      if (isTaken) keys.push(key);
      return !isTaken;
    });
    return keys;
  }

  private async load(keys: TileKey[]): Promise<void> {
    const request: Request = { keys, abort: new AbortController(), version: this.version };
    for (const key of keys) this.asked.set(keyText(key), request);
    this.requests++;
    try {
      const tiles = decodeTiles(await getBytes(this.url(keys), request.abort.signal));
      keys.forEach((key, at) => this.keep(key, tiles[at], request.version));
      // What a shared file lacks it will always lack.
      if (this.failed.size > 0 && !isShareFile()) this.recovered();
    } catch (error) {
      if (!request.abort.signal.aborted) {
        for (const key of keys) this.failed.add(keyText(key));
        if (!isShareFile()) this.refused(error as Error);
      }
    } finally {
      this.requests--;
      for (const key of keys) if (this.asked.get(keyText(key)) === request) this.asked.delete(keyText(key));
      this.pump();
      if (this.settled) this.rested();
    }
  }

  private keep(key: TileKey, tile: Tile | undefined, version: number): void {
    if (!tile) throw new Error("an answer with too few tiles");
    const held = { text: keyText(key), tile, version };
    this.tiles.set(held.text, held);
    if (key.index === 0 && tileSpan(key).t1 >= this.end_ns) this.whole.set(key.track, held);
    this.arrived(key);
  }

  private url(keys: readonly TileKey[]): string {
    const [first] = keys as [TileKey];
    const { t0, t1 } = tileSpan(first);
    return runUrl(this.run, "tiles", { track: keys.map(({ track }) => track).join(","), t0, t1, res: first.res_ns, filter: this.filter() });
  }

  /** Has what failed asked for again when it is wanted next. */
  retry(): void {
    this.failed.clear();
  }

  /** Has what is seen asked anew: the run has changed, anywhere, since work and ranks may come late. */
  outdate(): void {
    this.failed.clear();
    this.version++;
  }

  /** Forgets everything: the filter has changed. */
  clear(): void {
    for (const { abort } of new Set(this.asked.values())) abort.abort();
    this.asked.clear();
    this.queue = [];
    this.failed.clear();
    for (const kept of [this.whole, this.tiles]) kept.deleteWhere(() => true);
  }
}
