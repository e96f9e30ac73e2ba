// Finds words that say that a tool deletes, overwrites or publishes something, for hints about tools without marks.

import type { Tool } from './tool.js';

export const DESTRUCTIVE_WORDS: ReadonlySet<string> = new Set([
  ...['clean', 'clear', 'delete', 'del', 'destroy', 'discard', 'drop', 'erase', 'expire', 'kill', 'nuke', 'overwrite'],
  ...['prune', 'purge', 'remove', 'reset', 'revert', 'revoke', 'rm', 'rmdir', 'rollback', 'shred', 'shutdown'],
  ...['terminate', 'truncate', 'uninstall', 'unpublish', 'wipe'],
  ...['deploy', 'publish', 'push', 'release'],
]);

/** Returns the first such word of a name: `delete` of `deleteAll`, `clean` of `make-clean`. */
export function findDestructiveWord(name: string): string | undefined {
  const parts = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
  return parts.split(/[^a-z]+/).find((word) => DESTRUCTIVE_WORDS.has(word));
}

/**
 * Returns the word by which a tool without marks may be destructive: of its name, of the command that it runs, or the
 * first one of its description. Undefined if it is marked as destructive, as not destructive, or as read-only.
 */
export function findUnmarkedWord({ name, description, traits, action }: Tool): string | undefined {
  if (traits.destructive !== undefined || traits.readOnly === true || action.kind === 'text') return undefined;
  const own = findDestructiveWord(name) ?? findDestructiveWord(description.split(' ', 1)[0]!.replace(/s$/, ''));
  if (own !== undefined || action.kind !== 'process' || action.runs !== 'command') return own;
  for (const { binary, subcommand, args } of action.executions) {
    for (const word of [binary, ...subcommand.split(' '), ...args.map(({ literal = '' }) => literal)]) {
      // A path or a sentence is not a command.
      const found = /^[\w:-]+$/.test(word) ? findDestructiveWord(word) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Says that models call a tool without asking although it may be destructive, and what to do about it (POL-38). */
export function describeUnmarked(name: string, word: string): { readonly message: string; readonly hint: string } {
  return {
    message: `${name} has no marks: a model's call does not ask first, although "${word}" may be destructive`,
    hint: `mark it as destructive (@destructive) or read-only (@readonly), or add a rule: [trust] rules = ["${name}"] asks first`,
  };
}
