// The words of a tool at a command line: its name in kebab-case, without the prefix of its group (MOD-20).

import type { Tool } from '../core/tool.js';

/** How a tool is addressed: `<group> <word>`, or `<word>` where it has no group. */
export interface CommandName {
  readonly group?: string;
  readonly word: string;
}

const ALREADY = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Whether a tool is called by its name as it is: no group, nothing to change. */
export function isPlain({ name, traits }: Pick<Tool, 'name' | 'traits'>): boolean {
  return traits.group === undefined && ALREADY.test(name);
}

// The engine takes milliseconds to prepare a pattern with classes of Unicode, and most names need none.
const ASCII = /^[ -~]*$/;

/** Text in kebab-case: lower case, everything but letters and digits one dash; empty where nothing is left. */
export function kebab(text: string): string {
  if (ALREADY.test(text)) return text;
  const words = ASCII.test(text)
    ? text.replace(/([a-z0-9])(?=[A-Z])/g, '$1-').replace(/[^A-Za-z0-9]+/g, '-')
    : text.replace(/([\p{Ll}\p{N}])(?=\p{Lu})/gu, '$1-').replace(/[^\p{L}\p{N}\p{M}]+/gu, '-');
  return words.replace(/^-|-$/g, '').toLowerCase();
}

/** The command of a tool. A namespace stays as it is: `jk:find_all` is `jk:find-all`. */
export function commandName({ name, traits }: Pick<Tool, 'name' | 'traits'>): CommandName {
  const colon = name.indexOf(':') + 1;
  const namespace = name.slice(0, colon);
  const word = kebab(name.slice(colon)) || name.slice(colon);
  const group = traits.group === undefined ? '' : kebab(traits.group);
  if (group === '') return { word: namespace + word };
  const prefix = `${group}-`;
  return { group, word: namespace + (word.startsWith(prefix) ? word.slice(prefix.length) : word) };
}

/** The words of a command, as one would type them. */
export function commandWords({ group, word }: CommandName): string {
  return group === undefined ? word : `${group} ${word}`;
}
