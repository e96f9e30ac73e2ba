// Removes secrets from a text that arrives in pieces.

import { formsOf, redactKnown } from './redact.js';

export interface StreamRedactor {
  /** Returns what can be shown by now: the beginning of a secret at the end is held back until more arrives. */
  pass(text: string): string;
  /** Returns what was held back. */
  end(): string;
}

export function createStreamRedactor(secrets: readonly string[]): StreamRedactor {
  if (secrets.length === 0) return { pass: (text) => text, end: () => '' };
  const forms = formsOf(secrets);
  const longest = Math.max(0, ...forms.map(({ length }) => length));
  let held = '';
  const beginsSecret = (text: string): boolean =>
    forms.some((form) => form.length > text.length && form.startsWith(text));
  return {
    pass(text) {
      const clean = redactKnown(held + text, secrets);
      let from = Math.max(0, clean.length - longest + 1);
      while (from < clean.length && !beginsSecret(clean.slice(from))) from++;
      held = clean.slice(from);
      return clean.slice(0, from);
    },
    end() {
      const rest = held;
      held = '';
      return rest;
    },
  };
}
