import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatRoute, route, setParams } from "../state/route";

/** A box to type in, whose text is a parameter of the address. */
export interface Typed {
  text: string;
  /** What the address says. */
  applied: string;
  /** Takes what is typed, and applies it after a pause; what is not finished waits for more. */
  type(text: string, isFinished?: boolean): void;
  /** Shows a text and applies it. */
  put(text: string): void;
  /** Applies what still waits for its pause. */
  leave(): void;
}

/** The text of a box; what still waits belongs to the view that it was typed in, and is dropped where another comes. */
export function useTyped(param: string, pause_ms: number, tidy = (text: string) => text): Typed {
  const applied = route.value.params[param] ?? "";
  const place = formatRoute({ ...route.value, params: {} });
  const [text, setText] = useState(applied);
  const waiting = useRef<{ text: string; timer: number } | null>(null);
  /** What the box was last in step with: what it applies itself leaves alone what is typed on. */
  const known = useRef({ place, applied });
  const drop = () => {
    clearTimeout(waiting.current?.timer);
    waiting.current = null;
  };
  const apply = (value: string) => {
    drop();
    known.current.applied = tidy(value);
    setParams({ [param]: tidy(value) });
  };
  useLayoutEffect(() => {
    if (place === known.current.place && applied === known.current.applied) return;
    drop();
    known.current = { place, applied };
    setText(applied);
  }, [place, applied]);
  useLayoutEffect(() => drop, []);
  return {
    text,
    applied,
    type(value, isFinished = true) {
      setText(value);
      drop();
      if (isFinished) waiting.current = { text: value, timer: window.setTimeout(() => apply(value), pause_ms) };
    },
    put(value) {
      setText(value);
      apply(value);
    },
    leave() {
      if (waiting.current) apply(waiting.current.text);
    },
  };
}
