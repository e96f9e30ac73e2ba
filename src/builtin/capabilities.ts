// The inventory of what the tools can do, by theme, and the built-in tool `capabilities_refresh` that writes it.

import { basename, dirname, join } from 'node:path';
import { orNothing, ToolError } from '../core/error.js';
import type { Snapshot, World } from '../core/snapshot.js';
import { compareText, count, quoteOutside, sanitize } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { containedPath } from '../files/contained-path.js';
import { readTextFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import { defineBuiltin } from '../formats/module/builtin.js';
import { listTools } from '../runtime/list.js';
import { askModel, type CreateModelFetch } from './ask-model.js';
import type { GetParts } from './builtin.js';

export interface CapabilitiesOptions {
  /** The environment that holds the key of the configured model. */
  readonly env: World['env'];
  readonly createFetch: CreateModelFetch;
}

const SYSTEM =
  'You write inventories. Answer with a list in Markdown, a line a theme, each "- Theme: what can be done", and nothing ' +
  'else. Say what can be done, never the name of a tool.';

/** Below `.agents`. */
const INVENTORY = join('prompts', 'capabilities.md');
const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n[\s\S]*?^---[ \t]*(?:\r?\n|$)/m;
const MAX_CHARACTERS = 16 * 1024;

export function createCapabilitiesTool(parts: GetParts, options: CapabilitiesOptions): Tool {
  return defineBuiltin<{ dry_run?: boolean }>({
    name: 'capabilities_refresh',
    description: 'Update the inventory of what the tools here can do, by theme, for the next run.',
    inputSchema: {
      type: 'object',
      properties: { dry_run: { type: 'boolean', description: 'Show the inventory without writing it' } },
    },
    traits: { group: 'capabilities', idempotent: true },
    async run({ dry_run: dryRun = false }, { workdir, signal }, { snapshot }) {
      const path = join(workdir, '.agents', INVENTORY);
      const tools = await listTools(parts(), snapshot, { caller: { kind: 'model', door: 'library' } });
      const lines = await makeLines(tools, options, snapshot, signal);
      const before = readOwn(workdir, path) ?? '';
      const text = `${frontOf(before)}# Capabilities\n\n${lines.join('\n')}\n`;
      const changed = text !== before;
      if (changed && !dryRun) writeFileAtomic(containedFile(workdir, path), text, { mode: 0o644 });
      return { path, themes: lines.length, changed, text };
    },
  });
}

// A server may still be starting.
const NO_TOOLS = '- No tools are known.';

async function makeLines(
  tools: readonly Tool[],
  { env, createFetch }: CapabilitiesOptions,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<string[]> {
  const seen = tools.filter((tool) => tool.origin.builtin !== true && !tool.traits.terminal);
  const themes = describeThemes(seen);
  const { model } = snapshot.settings;
  if (model === undefined || seen.length === 0) return themes.length > 0 ? themes : [NO_TOOLS];
  const prompt = seen.map(({ name, description }) => `${name}: ${sanitize(description).slice(0, 500)}`).join('\n');
  const key = model.keyVariable === undefined ? undefined : env[model.keyVariable];
  const answer = await askModel({ model, key, system: SYSTEM, prompt, signal, createFetch });
  const names = seen.map((tool) => tool.name);
  // Lines of the model that have the wrong form or contain a tool name are dropped.
  const lines = answer
    .split('\n')
    .map((line) => sanitize(line).trim())
    .filter((line) => /^[-*] \S/.test(line) && !namesTool(line, names))
    .map((line) => `- ${line.slice(2)}`);
  return lines.length > 0 ? lines : themes;
}

const MAX_SENTENCES = 6;
const MAX_SENTENCE = 90;

// The lines of the inventory, one for each theme; independent of the order of the tools.
function describeThemes(tools: readonly Tool[]): string[] {
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

// Whether a text contains the name of a tool as a word.
function namesTool(text: string, names: readonly string[]): boolean {
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
  return quoteOutside(sentence.replace(/[.!?]+$/, ''), MAX_SENTENCE).trim();
}

function containedFile(workdir: string, path: string): string {
  const directory = dirname(path);
  const contained = containedPath(directory, { base: workdir, roots: [workdir] });
  if (contained !== undefined) return join(contained, basename(path));
  throw new ToolError('path_escape', `${directory} is a link out of ${workdir}; nothing was written`, {
    hint: 'replace the link with a directory',
  });
}

/** Returns the inventories of these directories, each once; empty if there are none. */
export function readCapabilities(...directories: readonly (string | undefined)[]): string {
  const texts = [...new Set(directories)].map((directory) => (directory === undefined ? '' : readInventory(directory)));
  return texts.filter((text) => text !== '').join('\n\n');
}

function readInventory(directory: string): string {
  // An unreadable inventory is not used.
  const text = orNothing(() => readOwn(directory, join(directory, '.agents', INVENTORY))) ?? '';
  return sanitize(text.slice(frontOf(text).length))
    .trim()
    .slice(0, MAX_CHARACTERS);
}

function frontOf(text: string): string {
  const front = FRONTMATTER.exec(text);
  return front?.index === 0 ? front[0] : '';
}

// Reads a file of a directory, unless it is a link out of it; undefined if there is none.
function readOwn(directory: string, path: string): string | undefined {
  const contained = containedPath(path, { base: directory, roots: [directory] });
  return contained === undefined ? undefined : readTextFile(contained, 256 * 1024);
}
