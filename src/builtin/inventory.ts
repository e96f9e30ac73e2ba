// An inventory of tools by theme, one line each, without their names.

import { compareText, count, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';

const MAX_SENTENCES = 6;
const MAX_CHARACTERS = 90;

/** Returns the lines of the inventory; independent of the order of the tools. */
export function describeThemes(tools: readonly Tool[]): string[] {
  const themes = new Map<string, Tool[]>();
  for (const tool of tools) {
    const theme = toTitle(themeOf(tool));
    themes.set(theme, [...(themes.get(theme) ?? []), tool]);
  }
  const names = tools.map((tool) => tool.name);
  return [...themes]
    .sort(([one], [other]) => compareText(one, other))
    .map(([theme, members]) => {
      const said = members
        .map((tool) => firstSentence(tool.description))
        .filter((sentence) => sentence !== '' && !namesTool(sentence, names))
        .sort(compareText);
      const different = [...new Set(said)];
      const shown = different.slice(0, MAX_SENTENCES).join('; ');
      const more = members.length > MAX_SENTENCES ? '; and more' : '';
      return `- ${theme}: ${shown === '' ? count(members.length, 'tool') : shown + more}`;
    });
}

/** Returns whether a text contains the name of a tool as a word. */
export function namesTool(text: string, names: readonly string[]): boolean {
  const words = new Set(text.match(/[A-Za-z0-9_:-]+/g)?.flatMap((word) => [word, word.replace(/[:-]+$/, '')]));
  return names.some((name) => words.has(name));
}

function themeOf({ traits, origin }: Tool): string {
  if (traits.group !== undefined) return traits.group;
  const tag = [...traits.tags].sort(compareText)[0];
  if (tag !== undefined) return tag;
  return origin.server ?? 'other';
}

function toTitle(word: string): string {
  const words = word.replace(/[_:-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Sanitises a description and shortens it to its first sentence.
function firstSentence(description: string): string {
  const line = description.trim().split('\n')[0]!;
  const sentence = /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
  return quoteOutside(sentence.replace(/[.!?]+$/, ''), MAX_CHARACTERS).trim();
}
