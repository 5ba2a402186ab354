/**
 * Reads texts in a worker, one after the other, each for a second at most.
 *
 * What reads Markdown and colours code takes hours for some texts, and a page that waits for it does
 * nothing else. A worker that takes too long is ended, and the next text gets a new one. One that has
 * nothing to do is ended too.
 */
import type { TextNode } from "./textTree";

export interface Reading {
  readonly text: string;
  /** Of code; without one, the text is Markdown. */
  readonly language?: string | undefined;
}

/** What was made of a text; null if that took too long, or nothing can be made of it. */
export type Tree = readonly TextNode[] | null;

interface Job {
  readonly reading: Reading;
  readonly settle: (tree: Tree) => void;
  readonly fail: (reason: unknown) => void;
}

const LONGEST_MS = 1_000;
const LONGEST_START_MS = 10_000;
const IDLE_MS = 5_000;

export class TextReader {
  private readonly waiting: Job[] = [];
  private present: Job | undefined;
  private worker: Worker | undefined;
  private isReady = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Read a text when its turn comes; one that is no longer wanted by then is passed over.
   *
   * Rejects if no worker could be started.
   */
  read(reading: Reading, signal: AbortSignal): Promise<Tree> {
    return new Promise((settle, fail) => {
      this.waiting.push({ reading, settle, fail });
      signal.addEventListener("abort", () => {
        const place = this.waiting.findIndex((job) => job.settle === settle);
        if (place !== -1) this.waiting.splice(place, 1);
      });
      if (this.present === undefined) this.goOn();
    });
  }

  private goOn(): void {
    clearTimeout(this.timer);
    this.present = this.waiting.shift();
    if (this.present === undefined) this.timer = setTimeout(() => this.end(), IDLE_MS);
    else if (this.worker === undefined) this.start();
    else if (this.isReady) this.send(this.present);
  }

  private start(): void {
    this.timer = setTimeout(() => this.giveUp(), LONGEST_START_MS);
    try {
      this.worker = new Worker(new URL("./textWorker.ts", import.meta.url), { type: "module" });
    } catch {
      this.giveUp();
      return;
    }
    this.worker.onmessage = ({ data }: MessageEvent<Tree>) => this.take(data);
    this.worker.onerror = () => this.giveUp();
  }

  private send(job: Job): void {
    this.worker?.postMessage(job.reading);
    this.timer = setTimeout(() => this.giveUp(), LONGEST_MS);
  }

  private take(tree: Tree): void {
    clearTimeout(this.timer);
    if (this.isReady) {
      this.present?.settle(tree);
      this.goOn();
    } else {
      this.isReady = true;
      if (this.present !== undefined) this.send(this.present);
    }
  }

  /** End a worker that takes too long or is broken. If it has not even started, no text that waits is read. */
  private giveUp(): void {
    const hasStarted = this.isReady;
    this.end();
    if (hasStarted) this.present?.settle(null);
    else {
      const failure = new Error("The worker did not start");
      for (const job of [this.present, ...this.waiting.splice(0)]) job?.fail(failure);
    }
    this.goOn();
  }

  private end(): void {
    clearTimeout(this.timer);
    // What it may still have said is not heard.
    this.worker?.terminate();
    this.worker = undefined;
    this.isReady = false;
  }
}
