import { reconnects } from "./live";

/** What is under way, and what follows it where the same was asked for again meanwhile. */
interface Turn { readonly question: string; again: (() => void) | null }

/** A question that is asked again as a run grows: once at a time, so that a run that grows faster than it is answered has its answers shown. */
export class Asking {
  private turn: Turn | null = null;

  /** Asks now, or, where the same question is under way, once more when that is answered; an answer to another question is not heard any more. */
  ask<T>(question: string, get: () => Promise<T>, heard: (answer: T) => void, failed: (error: Error) => void): void {
    // What was asked of a server that was gone since may never be answered.
    const whole = `${reconnects.peek()} ${question}`;
    if (this.turn?.question === whole) {
      this.turn.again = () => this.ask(question, get, heard, failed);
      return;
    }
    const turn: Turn = { question: whole, again: null };
    this.turn = turn;
    const over = <A>(hear: (what: A) => void) => (what: A) => {
      if (this.turn !== turn) return;
      this.turn = null;
      hear(what);
      turn.again?.();
    };
    get().then(over(heard), over(failed));
  }

  /** Hears no answer any more. */
  stop(): void {
    this.turn = null;
  }
}
