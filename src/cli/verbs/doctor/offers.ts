// Finds names in `builtin.offer` that are neither a built-in tool nor a group of them (CLI-26).

import type { Problem } from '../../../core/problem.js';
import { nearest } from '../../../core/text.js';
import type { Survey } from '../../../core/toolbox.js';
import type { NodeToolbox } from '../../../node.js';

type Configuration = ReturnType<NodeToolbox['state']['configuration']>;

export function offerProblems({ settings, entries }: Configuration, { tools, unlisted }: Survey): Problem[] {
  const known = [...tools, ...unlisted]
    .filter(({ origin }) => origin.format === 'builtin')
    .flatMap(({ name, traits }) => [name, traits.group ?? name]);
  const place = entries.find(({ key }) => key === 'builtin.offer');
  return settings.offer
    .filter((name) => !known.includes(name))
    .map((name) => {
      const [close] = nearest(name, known);
      const hint = close === undefined ? `use one of ${[...new Set(known)].join(', ')}` : `did you mean ${close}?`;
      const message = `builtin.offer: unknown built-in tool or group "${name}"`;
      return { severity: 'warning', path: place?.file ?? '', line: place?.line ?? undefined, message, hint };
    });
}
