// A page that a server shows to people: the request of a browser, and the answer to it.

/** A request of a browser. */
export interface PageRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly cookie: string | undefined;
}

/** The answer to a browser. */
export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
