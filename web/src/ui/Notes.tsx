import type { ComponentChildren } from "preact";
import { ApiError } from "../api/client";
import { isShareFile } from "../api/inline";

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
  const isMissing = !small && error instanceof ApiError && error.status === 404 && !isShareFile();
  return (
    <section class={"note error" + (small ? " small" : "")} role="alert">
      <h2>That did not work</h2>
      <p>{isMissing ? error.message.replace(/; \/api\/runs lists them$/, "") : error.message}</p>
      {isMissing && <p>It may have been removed, or be in another folder: <code>hodo view --dir FOLDER</code> shows that one.</p>}
      {isMissing && <p><a href="#/runs">All runs</a></p>}
    </section>
  );
}
