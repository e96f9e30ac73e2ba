// Terms of selectors that depend on the moment of a call, written as `$name=value` in the parentheses of a selector.

/** What terms can depend on besides the call. */
export interface Moment {
  /** Wall clock in milliseconds. */
  readonly now: number;
}

/** Whether a selector can match at a moment. */
export type Condition = (moment: Moment) => boolean;

export interface SelectorTerm {
  /** With the dollar sign. */
  readonly name: string;
  /** Parses the value. Throws an Error whose message says what the value must be. */
  parse(value: string): Condition;
}

/** A selector with several terms matches if all of their conditions hold. To add a term, add it here. */
export const SELECTOR_TERMS: readonly SelectorTerm[] = [];
