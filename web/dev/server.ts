import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import path from "node:path";
import * as answers from "./answers";
import { comparison, flame, report } from "./report";
import { devRuns, type DevRun } from "./runs";
import { encodeTiles } from "../src/timeline/tile";
import { tileOf } from "./tiles";

const TYPES: Record<string, string> = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css" };
/** The policy that the real server sends. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `tell` sends an event to all who listen, and says how many they are. */
export interface Started { server: Server; port: number; runs: DevRun[]; tell: (event: string, data: string) => number }

/** Serves the built page over runs made by formula. */
export function startServer(page: string, port: number, slices: number): Promise<Started> {
  const runs = devRuns(slices);
  const listeners = new Set<ServerResponse>();
  const tell = (event: string, data: string) => {
    for (const to of listeners) to.write(`event: ${event}\ndata: ${data}\n\n`);
    return listeners.size;
  };
  const grow = setInterval(() => {
    for (const run of runs.filter(({ state }) => state === "live")) {
      if (run.isLate === undefined) run.end_ns += 40e6;
      run.generation++;
      tell("grew", JSON.stringify({ run: run.id, generation: run.generation, end_ns: run.end_ns }));
    }
  }, 1000);
  const server = createServer((request, response) => {
    try {
      route(request, response, runs, listeners, page);
    } catch (error) {
      json(response, { error: String(error) }, 500);
    }
  });
  server.on("close", () => clearInterval(grow));
  return new Promise((ready) => server.listen(port, "127.0.0.1", () => ready({ server, port: (server.address() as { port: number }).port, runs, tell })));
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function route(request: IncomingMessage, response: ServerResponse, runs: DevRun[], listeners: Set<ServerResponse>, page: string): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const parts = url.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  if (parts[0] !== "api") return file(response, page, parts.join("/") || "index.html");
  if (parts[1] === "events") {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(": hello\n\n");
    listeners.add(response);
    request.on("close", () => listeners.delete(response));
    return;
  }
  if (parts[1] === "sql") return sql(request, response);
  if (parts[1] !== "runs") return json(response, { error: "no such route" }, 404);
  if (parts.length === 2) return json(response, { runs: list(runs), unread: 0 });
  const run = runs.find((each) => each.id === parts[2]);
  if (!run) return json(response, { error: `no run ${parts[2]}; the list of runs has those there are` }, 404);
  ofRun(response, run, runs, parts.slice(3), url.searchParams);
}

function list(runs: DevRun[]) {
  return runs.map((run, at) => ({ id: run.id, app: run.app, path: run.id, state: run.state, start_unix_ns: (1_790_000_000 - at * 3600 + (run.id === "small-after" ? 7200 : 0)) * 1e9, duration_ns: run.end_ns, processes: 1, scopes: run.tracks.reduce((sum, track) => sum + track.counts.reduce((a, b) => a + b, 0), 0), gpu_work: 1200, gpu: ["NVIDIA H200"], ranks: at < 2 ? [0, 1] : [], attributes: { variant: at % 2 ? "beam" : "greedy" }, lost: 0, bytes: 1e6, main_mark: run.tracks.length ? { name: "loss", values: Array.from({ length: 64 }, (_, k) => 2.5 * Math.exp(-k / 20)) } : null }));
}

function ofRun(response: ServerResponse, run: DevRun, runs: DevRun[], parts: string[], params: URLSearchParams): void {
  const number = (name: string, fallback: number) => Number(params.get(name) ?? fallback);
  const filter = params.get("filter") ?? "";
  if (/[=<>]$/.test(filter) || (filter && !/[=<>]/.test(filter))) return json(response, { error: `the filter ${filter} is not a condition; write one like variant=beam or index>100` }, 400);
  const [what, id = ""] = parts;
  switch (what) {
    case "tracks": return json(response, answers.tracks(run));
    case "report": return json(response, report(run, filter));
    case "opening": return json(response, { state: "open" });
    case "steps": {
      const wished = (name: string) => (params.has(name) ? Number(params.get(name)) : null);
      const wish = { index: wished("index"), after_ns: wished("after_ns"), before_ns: wished("before_ns") };
      if (Object.values(wish).filter((each) => each !== null).length > 1) return json(response, { error: "say which step by one of index=N, after_ns=T, before_ns=T" }, 400);
      return json(response, answers.steps(run, filter, wish));
    }
    case "tiles": {
      const tracks = (params.get("track") ?? "").split(",").flatMap((id) => run.tracks.filter((each) => String(each.id) === id)).map((track) => (run.isLate && track.kind === "stream" ? { ...track, levels: [] } : track));
      if (tracks.length === 0) return json(response, { error: "no such track" }, 404);
      const tiles = tracks.map((track) => tileOf(track, number("t0", 0), number("t1", 0), number("res", 1), run.end_ns, (name) => answers.nameId(run, name), (_, k, name) => filter !== "" && !answers.fits(filter, k, name)));
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(Buffer.from(tiles.length === 1 ? tiles[0]! : encodeTiles(tiles)));
      return;
    }
    case "spans": case "kernels": {
      const found = answers.span(run, id);
      return found ? json(response, found) : json(response, { error: `no scope ${id} in this run` }, 404);
    }
    case "walk": {
      const found = answers.walk(run, params.get("from") ?? "", params.get("to") ?? "");
      if (found) return json(response, found);
      response.writeHead(204).end();
      return;
    }
    case "range": return json(response, answers.range(run, number("t0", 0), number("t1", run.end_ns)));
    case "flame": return json(response, flame(run, params.get("by") ?? "wall"));
    case "search": return json(response, answers.search(run, params.get("q") ?? "", number("limit", 100), number("after_ns", 0)));
    case "mark": return json(response, answers.markValues(run, params.get("name") ?? "", params.get("x") ?? "time", number("t0", -Infinity), number("t1", Infinity)));
    case "marks": return json(response, run.tracks.length ? [{ name: "loss", kind: "point", count: 300, last: 0.31 }, { name: "accuracy", kind: "point", count: 300, last: 0.9 }] : []);
    case "series": return json(response, id ? answers.seriesValues(run, id, number("t0", 0), number("t1", run.end_ns)) : run.tracks.length ? answers.series() : []);
    case "compare": {
      const other = runs.find((each) => each.id === id);
      if (!other) return json(response, { error: "no such run" }, 404);
      if (id !== "hostile") return json(response, comparison(run, other));
      const why = "they have no scope in common";
      return params.get("force") === "true" ? json(response, { ...comparison(run, other), obstacles: [{ code: "other_program", why }] }) : json(response, { error: `not comparable: ${why}` }, 409);
    }
    default: return json(response, { error: "no such route" }, 404);
  }
}

function sql(request: IncomingMessage, response: ServerResponse): void {
  let body = "";
  request.on("data", (chunk) => (body += String(chunk)));
  request.on("end", () => {
    const { query } = JSON.parse(body) as { query: string };
    if (query.includes("nonsense")) return json(response, { error: "nonsense is no table; there are spans, marks, kernels" }, 400);
    json(response, { columns: [{ name: "index", type: "Int64" }, { name: "duration_ns", type: "Int64" }, { name: "path", type: "Utf8" }], rows: Array.from({ length: 50 }, (_, at) => [at, 1e6 + at * 1000, "train/epoch/batch"]), cut: false, took_ms: 3.2 });
  });
}

function file(response: ServerResponse, page: string, name: string): void {
  const where = path.join(page, path.basename(name));
  if (!existsSync(where)) {
    response.writeHead(404).end("not here");
    return;
  }
  response.writeHead(200, { "content-type": TYPES[path.extname(where).slice(1)] ?? "application/octet-stream", "content-security-policy": POLICY, "x-content-type-options": "nosniff" }).end(readFileSync(where));
}
