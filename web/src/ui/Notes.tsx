import type { ComponentChildren } from "preact";
import { isMissing } from "../api/client";
import { plain } from "../shared/format";

/** What records a first run: one that needs nothing, and one of a training. */
export const FIRST_RUN = "hodo demo\nhodo run --hooks -- python train.py";

/** How a program gets scopes: with no change to it, by one line, or its own. */
export const SCOPES = 'hodo run --hooks -- python train.py\n\n# or one line in train.py\nhodo.profile()\n\n# or around what is to be told apart\nwith hodo.scope("step"):\n    ...';

/** Why a view is empty, and what to do about it. */
export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <section class="note" role="note">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && <pre>{command}</pre>}
    </section>
  );
}

/** What went wrong, in the server's words. */
export function Failure({ error, small }: { error: Error; small?: boolean }) {
  if (!small && isMissing(error)) return <Missing error={error} />;
  return (
    <section class={"note error" + (small ? " small" : "")} role="alert">
      <h2>That did not work</h2>
      <p>{error.message}</p>
    </section>
  );
}

/** A run that is not there, or not yet: the page is open before a program that imports for a while records anything. */
function Missing({ error }: { error: Error }) {
  return (
    <section class="note" role="alert">
      <h2>Waiting for a program to record this run</h2>
      <p>{plain(error.message.replace(/; \/api\/runs lists them$/, ""))}. It appears here by itself as soon as a program records it.</p>
      <p>Where none is about to, it may have been removed, or be in another folder: <code>hodo view --dir FOLDER</code> shows that one.</p>
      <p><a href="#/runs">All runs</a></p>
    </section>
  );
}
