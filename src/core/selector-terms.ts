// Terms of selectors that depend on the moment of a call, written as `$name=value` in the parentheses of a selector.

import { compileGlob } from './glob.js';

/** What rules may depend on of a caller. */
export interface UserOf {
  /** Who is logged in, where the door verified that. Approvals, limits and results are theirs, whatever their client is called. */
  readonly user?: string;
  /** The groups of the user. */
  readonly groups?: readonly string[];
  /** The profile of the configuration that limits the user; an unknown one allows nothing (IDN-12). */
  readonly profile?: string;
  /** Tells apart equal users of several issuers; rules do not. */
  readonly issuer?: string;
}

/** What terms can depend on besides the call. */
export interface Moment {
  readonly user: UserOf;
  /** Wall clock in milliseconds. */
  readonly now: number;
  /** The labels that entered the session; none if absent. */
  readonly labels?: readonly string[];
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
export const SELECTOR_TERMS: readonly SelectorTerm[] = [
  toTerm('$user', ({ user }) => (user === undefined ? [] : [user])),
  toTerm('$group', ({ groups = [] }) => groups),
];

// A caller without a user has no values, so that no such term matches it (IDN-2).
function toTerm(name: string, valuesOf: (user: UserOf) => readonly string[]): SelectorTerm {
  return {
    name,
    parse(value) {
      if (value === '') throw new Error(`write ${name}=NAME; * matches every one that is known`);
      const glob = compileGlob(value, { text: value, offset: 0 });
      return ({ user }) => valuesOf(user).some((one) => glob.matches(one));
    },
  };
}
