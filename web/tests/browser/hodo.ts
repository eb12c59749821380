import { spawn, type ChildProcess } from "node:child_process";
import { atEnd } from "./harness";

/** The `hodo` that tests over real runs use; none where there is none. */
export const HODO = process.env.HODO_BIN;
/** What tests over real runs need. */
export const real = { skip: HODO ? false : "HODO_BIN is not set" };

/** The address that a command prints. */
export function started(child: ChildProcess): Promise<string> {
  return new Promise((ready, failed) => {
    let said = "";
    const hear = (bytes: Buffer) => {
      said += bytes.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+\/\?token=\w+(#\S*)?/.exec(said);
      if (found) ready(found[0]);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.on("exit", (code) => failed(new Error(`the command ended with ${code}: ${said}`)));
  });
}

/** Serves a folder of runs until the tests of the file are done. */
export async function serve(dir: string): Promise<string> {
  const server = spawn(HODO!, ["view", "--no-open", "--dir", dir]);
  atEnd(() => server.kill());
  return started(server);
}
