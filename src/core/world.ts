// The World: environment, home directory, clocks and debug output, passed in so that toolboxes share no global state.

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home directory, if there is one. */
  readonly home: string | undefined;
  readonly platform: string;
  /** Wall clock in milliseconds, the same as the file system's. */
  now(): number;
  /** Monotonic clock in milliseconds. */
  monotonic(): number;
  /** Writes a debug message (CLI-12), without secrets. */
  debug(message: string): void;
  /** Whether debug messages are shown, for messages that are expensive to create. */
  readonly debugging: boolean;
}
