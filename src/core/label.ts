// Labels: what the results of a tool contain or a call of it does, and which of them entered a session (FLW-1).

import { quoteOutside } from './text.js';

/** A label that entered a session. */
export interface EnteredLabel {
  /** Its name, such as `untrusted`. */
  readonly label: string;
  /** The tool whose result brought it. */
  readonly tool: string;
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** Until when it counts, for a caller without sessions; else it counts as long as the session. */
  readonly until?: number | undefined;
}

/** The labels of sessions. Rejects or throws if they cannot be read or stored: then the call does not run. */
export interface SessionLabels {
  read(session: string): readonly EnteredLabel[] | Promise<readonly EnteredLabel[]>;
  /** Adds labels, durably. `of` names the session for people. */
  enter(session: string, of: string, labels: readonly EnteredLabel[]): Promise<void>;
}

/** A session and its labels, as people see it. */
export interface LabelledSession {
  /** Identifies the session, without giving access to it. */
  readonly id: string;
  /** Whose session it is: `model mcp:cursor`. */
  readonly of: string;
  readonly labels: readonly EnteredLabel[];
}

/** What a person does with the labels of sessions. */
export interface LabelAdmin {
  list(): readonly LabelledSession[] | Promise<readonly LabelledSession[]>;
  /** Forgets the labels of a session. Throws `not_found`. */
  clear(id: string): void | Promise<void>;
}

const LABEL = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Whether a text is the name of a label: in the form of a tag. */
export function isLabel(text: string): boolean {
  return LABEL.test(text);
}

/** Adds labels to those of a session; returns the same list if that changes nothing. */
export function joinLabels(known: readonly EnteredLabel[], added: readonly EnteredLabel[]): readonly EnteredLabel[] {
  const all = new Map(known.map((one) => [one.label, one]));
  for (const one of added) {
    const before = all.get(one.label);
    if (before === undefined || (before.until !== undefined && isLater(one.until, before.until)))
      all.set(one.label, one);
  }
  return [...all.values()].every((one, at) => one === known[at]) ? known : [...all.values()];
}

// A minute more is not worth a write.
const RENEWAL_MS = 60_000;

function isLater(until: number | undefined, before: number): boolean {
  return until === undefined || until >= before + RENEWAL_MS;
}

/** Returns the labels that still count. */
export function withoutExpired(labels: readonly EnteredLabel[], now: number): readonly EnteredLabel[] {
  return labels.filter(({ until }) => until === undefined || until > now);
}

/** Returns `untrusted from fetch_page, 2026-11-18 10:32Z`, for people. */
export function describeLabel({ label, tool, at }: EnteredLabel): string {
  const time = new Date(at).toISOString().slice(0, 16).replace('T', ' ');
  return `${label} from ${quoteOutside(tool, 64)}, ${time}Z`;
}
