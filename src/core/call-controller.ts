// Cancels a call, and knows whether it was cancelled.

/** Aborts a call. Whether it was is known without its signal, which is created when it is first read: few tools need it. */
export class CallController {
  isAborted = false;
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    return this.#created.signal;
  }

  abort(reason?: unknown): void {
    this.isAborted = true;
    this.#created.abort(reason);
  }

  get #created(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }
}
