import { getBytes, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import { Lru } from "../shared/lru";
import { coarser, keyText, tileSpan, type TileKey } from "./tile-key";
import { decodeTiles, type Tile } from "./tile";

const KEPT_TILES = 600;
/** Requests at once: a browser opens six connections, and growth and panels need some. */
const AT_ONCE = 4;
/** Tracks of one request: fewer requests are less work, smaller ones are there sooner. */
const TOGETHER = 8;
const COARSER_STEPS = 26;

/** What one request asks for. */
interface Request { readonly keys: readonly TileKey[]; readonly abort: AbortController }

/** The tiles of a run: asked for as they are wanted, kept while they may be wanted again. */
export class TileStore {
  private readonly tiles = new Lru<string, Tile>(KEPT_TILES);
  /** Tiles of the whole run, which stand in for all others and are never forgotten. */
  private readonly whole = new Map<string, Tile>();
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
  ) {}

  /** The tile, if it is here. */
  get(key: TileKey): Tile | undefined {
    return this.tiles.get(keyText(key));
  }

  /** The tile, or the finest coarser one here, or that of the whole run. */
  best(key: TileKey): Tile | undefined {
    let at = key;
    for (let step = 0; step < COARSER_STEPS; step++) {
      const tile = this.tiles.get(keyText(at));
      if (tile) return tile;
      at = coarser(at);
    }
    return this.whole.get(key.track);
  }

  /** Asks for what is missing of these, most wanted first, and stops asking for everything else. */
  want(keys: readonly TileKey[]): void {
    const wanted = new Set(keys.map(keyText));
    for (const { keys: inside, abort } of new Set(this.asked.values())) {
      if (inside.some((key) => wanted.has(keyText(key)))) continue;
      for (const key of inside) this.asked.delete(keyText(key));
      abort.abort();
    }
    this.queue = keys.filter((key) => {
      const text = keyText(key);
      return !this.asked.has(text) && !this.failed.has(text) && !this.tiles.get(text);
    });
    this.pump();
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
    const request: Request = { keys, abort: new AbortController() };
    for (const key of keys) this.asked.set(keyText(key), request);
    this.requests++;
    try {
      const tiles = decodeTiles(await getBytes(this.url(keys), request.abort.signal));
      keys.forEach((key, at) => this.keep(key, tiles[at]));
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

  private keep(key: TileKey, tile: Tile | undefined): void {
    if (!tile) throw new Error("an answer with too few tiles");
    this.tiles.set(keyText(key), tile);
    if (key.index === 0 && tileSpan(key).t1 >= this.end_ns) this.whole.set(key.track, tile);
    this.arrived(key);
  }

  private url(keys: readonly TileKey[]): string {
    const [first] = keys as [TileKey];
    const { t0, t1 } = tileSpan(first);
    return runUrl(this.run, "tiles", { track: keys.map(({ track }) => track).join(","), t0, t1, res: first.res_ns, filter: this.filter() });
  }

  /** Forgets tiles that reach past a moment, since the run has grown there. */
  forgetFrom(end_ns: number): void {
    this.failed.clear();
    this.tiles.deleteWhere((text) => {
      const [, res, index] = text.split("|");
      return (Number(index) + 1) * Number(res) * 4096 > end_ns;
    });
  }

  /** Forgets everything: the filter has changed. */
  clear(): void {
    for (const { abort } of new Set(this.asked.values())) abort.abort();
    this.asked.clear();
    this.queue = [];
    this.failed.clear();
    this.whole.clear();
    this.tiles.deleteWhere(() => true);
  }
}
