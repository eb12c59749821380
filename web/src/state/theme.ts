import { effect, signal } from "@preact/signals";

export type Theme = "dark" | "light";
const KEY = "hodo-theme";
const wantsDark = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "dark" || value === "light" ? value : null;
  } catch {
    return null;
  }
}

const chosen = signal<Theme | null>(stored());
const system = signal<Theme>(wantsDark?.matches === false ? "light" : "dark");

/** The theme shown: what was chosen, else what the system wants. */
export const theme = signal<Theme>(chosen.value ?? system.value);

/** Keeps the page's theme in step with the choice and with the system. */
export function followTheme(): void {
  wantsDark?.addEventListener("change", (event) => (system.value = event.matches ? "dark" : "light"));
  effect(() => {
    theme.value = chosen.value ?? system.value;
    document.documentElement.dataset.theme = theme.value;
  });
}

/** Switches between dark and light, and remembers it unless it is what the system wants. */
export function toggleTheme(): void {
  const next: Theme = theme.value === "dark" ? "light" : "dark";
  chosen.value = next === system.value ? null : next;
  try {
    if (chosen.value) localStorage.setItem(KEY, chosen.value);
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}
