// Command names of tools: kebab-case, without the prefix of the group (MOD-20).

import type { Tool } from '../core/tool.js';

/** The command of a tool: `<group> <word>`, or `<word>` without a group. */
export interface CommandName {
  /** The group, if the tool has one. */
  readonly group?: string;
  /** The word after the group. */
  readonly word: string;
}

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const ASCII = /^[ -~]*$/;

/** Converts text to kebab-case; the result may be empty. */
export function kebab(text: string): string {
  if (KEBAB.test(text)) return text;
  // V8 takes milliseconds to compile the classes of Unicode, and few names need them.
  const words = ASCII.test(text)
    ? text.replace(/([a-z0-9])(?=[A-Z])/g, '$1-').replace(/[^a-zA-Z0-9]+/g, '-')
    : text.replace(/([\p{Ll}\p{N}])(?=\p{Lu})/gu, '$1-').replace(/[^\p{L}\p{N}\p{M}]+/gu, '-');
  return words.replace(/^-|-$/g, '').toLowerCase();
}

/** Returns the command of a tool. A namespace is not changed: `jk:find_all` becomes `jk:find-all`. */
export function commandName({ name, traits }: Pick<Tool, 'name' | 'traits'>): CommandName {
  const colon = name.indexOf(':') + 1;
  const namespace = name.slice(0, colon);
  const word = kebab(name.slice(colon)) || name.slice(colon);
  const group = traits.group === undefined ? '' : kebab(traits.group);
  if (group === '') return { word: namespace + word };
  const prefix = `${group}-`;
  return { group, word: namespace + (word.startsWith(prefix) ? word.slice(prefix.length) : word) };
}

/** Returns a command as it is typed. */
export function commandWords({ group, word }: CommandName): string {
  return group === undefined ? word : `${group} ${word}`;
}
