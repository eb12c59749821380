import { useState } from "preact/hooks";

/** Copies a text to the clipboard and says whether it worked. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [said, setSaid] = useState<string | null>(null);
  const copy = async () => {
    setSaid((await toClipboard(text())) ? "Copied" : "Not allowed");
    setTimeout(() => setSaid(null), 1500);
  };
  return (
    <>
      <button class="plain" onClick={() => void copy()}>{said ?? label}</button>
      <span class="sr" role="status">{said}</span>
    </>
  );
}

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** The old way, for pages that are not on a secure address. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr";
  document.body.append(area);
  area.select();
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}
