// Names of tools in programs: `files-read` is `tools.files_read` (COD-5).

import { ToolError } from '../../core/error.js';
import { toIdentifier } from '../../core/name.js';
import { nearest } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';

/** Returns the name of the tool that a program means; the given one if there is none. Throws `ambiguous`. */
export function resolveName(given: string, tools: readonly Pick<Tool, 'name'>[]): string {
  if (tools.some(({ name }) => name === given)) return given;
  const meant = tools.filter(({ name }) => toIdentifier(name) === given);
  if (meant.length > 1) {
    const names = meant.map(({ name }) => `tools["${name}"]`);
    throw new ToolError('ambiguous', `tools.${given} can be ${names.join(' or ')}`, { hint: 'write one of these' });
  }
  return meant[0]?.name ?? given;
}

/** Returns the hint for a name that no tool has. */
export function suggestName(given: string, tools: readonly Pick<Tool, 'name'>[]): string {
  const [close] = nearest(
    given,
    tools.map(({ name }) => toIdentifier(name)),
  );
  return close === undefined ? 'await tools.$search("words") finds tools' : `did you mean tools.${close}?`;
}
