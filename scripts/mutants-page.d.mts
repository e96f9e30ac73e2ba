export interface Mutation {
  readonly area: string;
  /** What is wrong with the code; identifies the mutation. */
  readonly what: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly tests: readonly string[];
  /** The review finding whose fix it undoes. */
  readonly finding?: string;
}

export declare function readMutations(): Mutation[];
export declare function readResults(): Record<string, string>;
export declare function toPage(mutations: readonly Mutation[], results: Record<string, string>): string;
