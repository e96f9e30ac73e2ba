// The World: what a program may know of its surroundings, handed in so that two can live in one process.

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home directory, where there is one. */
  readonly home: string | undefined;
  readonly platform: string;
  /** Milliseconds since 1970, as the file system counts them. */
  now(): number;
  /** Milliseconds on a clock that never jumps. */
  monotonic(): number;
  /** Why things happened, for someone who asked (CLI-12). Never called with a secret. */
  debug(message: string): void;
  /** Whether `debug` goes anywhere, for messages that cost something to make. */
  readonly debugging: boolean;
}
