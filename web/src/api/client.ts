import { fetchBeside } from "./beside";
import { inlined, isShareFile } from "./inline";
import { Lru } from "../shared/lru";

/** An answer that is not one: what, why and what to do, in the server's words where it said so. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const CACHED_ANSWERS = 300;
/** Text of all of them together; what is read from it takes a few times that. */
const CACHED_SIGNS = 16 << 20;
const answers = new Lru<string, Promise<unknown>>(CACHED_ANSWERS, CACHED_SIGNS);

/** The address of a route of a run, with its parameters in the given order; empty ones are left out. */
export function runUrl(run: string, route: string, params: Record<string, string | number | null | undefined> = {}): string {
  return `api/runs/${encodeURIComponent(run)}/${route}${query(params)}`;
}

/** `?a=1&b=2`, or nothing. */
export function query(params: Record<string, string | number | null | undefined>): string {
  const kept = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = kept.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&");
  return text ? "?" + text : "";
}

/** The JSON at an address, from memory where it was asked before. */
export function getJson<T>(url: string): Promise<T> {
  const known = answers.get(url);
  if (known) return known as Promise<T>;
  const asked: Promise<unknown> = ask(url).then(async (response) => {
    const text = await response.text();
    answers.weigh(url, asked, text.length);
    return JSON.parse(text) as unknown;
  });
  answers.set(url, asked);
  asked.catch(() => answers.delete(url));
  return asked as Promise<T>;
}

/** The JSON at an address, or nothing where the server has nothing to say; nothing is remembered. */
export async function getJsonOrNothing<T>(url: string): Promise<T | null> {
  const response = await ask(url);
  return response.status === 204 ? null : ((await response.json()) as T);
}

/** The bytes at an address, fetched beside the page; nothing is remembered. */
export async function getBytes(url: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  if (isShareFile()) return (await checked(await inlined(url))).arrayBuffer();
  const { status, bytes } = await heard(fetchBeside(url, signal), signal);
  if (status !== 200) await checked(new Response(bytes, { status }));
  return bytes;
}

/** Sends JSON and reads JSON. */
export async function postJson<T>(url: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { "content-type": "application/json" };
  const response = await ask(url, { method: "POST", headers, body: JSON.stringify(body), signal });
  return (await response.json()) as T;
}

/** The runs that an address asks about: one, or two that are compared. */
export function runsOf(url: string): string[] {
  const [, run, other] = /^api\/runs\/([^/?]+)\/(?:compare\/([^/?]+))?/.exec(url) ?? [];
  return [run, other].filter((id) => id !== undefined).map(decodeURIComponent);
}

/** Forgets what was answered about a run. */
export function forgetRun(run: string): void {
  answers.deleteWhere((url) => runsOf(url).includes(run));
}

/** Forgets what was answered about all runs. */
export function forgetRuns(): void {
  answers.deleteWhere((url) => runsOf(url).length > 0);
}

/** Forgets the list of runs. */
export function forgetList(): void {
  answers.deleteWhere((url) => url.split("?")[0] === "api/runs");
}

let isInVain = false;

/** Whether something was asked for before that the server did not answer, or did not have. */
export function wasInVain(): boolean {
  return isInVain;
}

/** Whether what was asked for is not there, which may come: a run is there once it records. */
export function isMissing(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404 && !isShareFile();
}

async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  if (isShareFile()) return checked(await inlined(url));
  return checked(await heard(fetch(url, { credentials: "same-origin", ...init }), init.signal));
}

/** What a server answers, or that it does not. */
async function heard<T>(answer: Promise<T>, signal?: AbortSignal | null): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (signal?.aborted) throw error;
    isInVain = true;
    throw new ApiError(0, "The server does not answer. Is `hodo view` still running? Start it again and open the address it prints.");
  }
}

async function checked(response: Response): Promise<Response> {
  if (response.status === 404) isInVain = true;
  if (!response.ok) throw new ApiError(response.status, await reason(response));
  return response;
}

async function reason(response: Response): Promise<string> {
  if (response.status === 401 || response.status === 403) {
    return "This page is not allowed to read the runs: its token is missing or old. Open the address that `hodo view` printed, with its token.";
  }
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "error" in body) return String(body.error);
  } catch {
    // An answer without JSON has no reason of its own.
  }
  return `The server answered ${response.status} ${response.statusText}.`;
}
