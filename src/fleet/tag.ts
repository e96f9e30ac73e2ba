// Where and how often a tool may run: tags of workers (FLT-7), and what may be repeated.

import { ToolError } from '../core/error.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';

/** The form of a tag, for messages. */
export const TAG_FORM = 'word of lower-case letters, digits and -';

export const TAG = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** Whether a text is a tag: `gpu`. */
export function isWorkerTag(text: string): boolean {
  return TAG.test(text);
}

/** Returns the tag of the workers that a tool runs on, empty if it runs anywhere. Throws `invalid_definition`. */
export function tagOf({ name, traits }: Tool, { settings }: Pick<Snapshot, 'settings'>): string {
  const set = settings.tools.get(name)?.runOn;
  const tag = set ?? traits.runOn;
  if (tag === undefined) return '';
  if (isWorkerTag(tag)) return tag;
  const key = set === undefined ? '@run-on' : `tools.${name}.runOn`;
  throw new ToolError('invalid_definition', `${name} was not run: ${key} "${quoteOutside(tag, 40)}" is not a tag`, {
    hint: `write one ${TAG_FORM}, as in gpu`,
  });
}

/** Whether calls of a tool may run more than once (FLT-11). */
export function mayRepeat({ traits }: Tool): boolean {
  return traits.readOnly === true || traits.idempotent === true;
}
