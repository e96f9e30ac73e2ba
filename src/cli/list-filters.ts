// Checks the tags and groups that `wield list` is filtered by.

import { normalizeTags } from '../core/name.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { Listed } from './listing.js';
import { usageError } from './verb.js';

/** Throws `usage` for a tag or group that nothing here has (CLI-26). */
export function assertKnown({ tools, skills }: Listed, tags: readonly string[], groups: readonly string[]): void {
  const check = (flag: string, wanted: readonly string[], known: readonly (string | null)[]): void => {
    const names = [...new Set(known)].filter((name) => name !== null);
    const unknown = wanted.find((name) => !names.includes(name));
    if (unknown === undefined) return;
    const close = nearest(unknown, names);
    const others = names.length === 0 ? `no tool has a ${flag}` : `use ${names.slice(0, 10).join(', ')}`;
    throw usageError(
      `unknown ${flag} "${quoteOutside(unknown, 40)}"`,
      close.length > 0 ? `did you mean --${flag} ${close[0]}?` : others,
    );
  };
  check(
    'tag',
    normalizeTags(tags),
    [...tools, ...skills].flatMap((one) => one.tags),
  );
  check(
    'group',
    groups,
    tools.map(({ group }) => group),
  );
}
