// The resources that a client or a stream follows, each once.

/** Of one client. */
export const MAX_SUBSCRIPTIONS = 1000;

export class Followed {
  readonly #ends = new Map<string, () => void>();
  #isClosed = false;
  #starting = 0;

  /** Starts to follow a resource; undefined if there are too many. */
  async start<T>(begin: () => Promise<T>): Promise<T | undefined> {
    if (this.#ends.size + this.#starting >= MAX_SUBSCRIPTIONS) return undefined;
    this.#starting++;
    try {
      return await begin();
    } finally {
      this.#starting--;
    }
  }

  add(uri: string, end: () => void): void {
    this.delete(uri);
    this.#ends.set(uri, end);
    // The client left while the subscription started.
    if (this.#isClosed) this.close();
  }

  delete(uri: string): void {
    this.#ends.get(uri)?.();
    this.#ends.delete(uri);
  }

  readonly close = (): void => {
    this.#isClosed = true;
    for (const uri of [...this.#ends.keys()]) this.delete(uri);
  };
}
