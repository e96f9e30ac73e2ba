// The built-in tool `capabilities_refresh`: writes an inventory of what the tools can do, by theme.

import { basename, dirname, join } from 'node:path';
import type { ToolContext } from '../core/context.js';
import { ToolError } from '../core/error.js';
import type { Snapshot } from '../core/snapshot.js';
import { sanitize } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { containedPath } from '../files/contained-path.js';
import { readTextFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import { toTool } from '../formats/module/define.js';
import { type BuiltinFunction, toInternal } from './builtin.js';
import { describeThemes, namesTool } from './inventory.js';

export interface CapabilitiesOptions {
  /** The tools that a model may see. */
  readonly tools: (snapshot: Snapshot) => Promise<readonly Tool[]>;
  /** The environment that holds the key of the configured model. */
  readonly env: World['env'];
}

const FILE = join('prompts', 'capabilities.md');
const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n[\s\S]*?^---[ \t]*(?:\r?\n|$)/m;
const MAX_CHARACTERS = 16 * 1024;
const SYSTEM =
  'You write inventories. Answer with a list in Markdown, a line a theme, each "- Theme: what can be done", and nothing ' +
  'else. Say what can be done, never the name of a tool.';

export function createCapabilitiesTool(options: CapabilitiesOptions): Tool {
  const execute: BuiltinFunction<{ dry_run?: boolean }> = async ({ dry_run: dryRun = false }, context, internals) => {
    const { workdir, signal } = context as ToolContext;
    const path = join(workdir, '.agents', FILE);
    const lines = await makeLines(options, internals!.snapshot, signal);
    const before = readOwn(workdir, path) ?? '';
    const front = FRONTMATTER.exec(before)?.index === 0 ? FRONTMATTER.exec(before)![0] : '';
    const text = `${front}# Capabilities\n\n${lines.join('\n')}\n`;
    const changed = text !== before;
    if (changed && !dryRun) {
      writeFileAtomic(containedFile(workdir, path), text, { mode: 0o644 });
    }
    return { path, themes: lines.length, changed, text };
  };
  const tool = toTool({
    name: 'capabilities_refresh',
    description: 'Update the inventory of what the tools here can do, by theme, for the next run.',
    group: 'capabilities',
    tags: ['meta-internal'],
    idempotent: true,
    inputSchema: {
      type: 'object',
      properties: { dry_run: { type: 'boolean', description: 'Show the inventory without writing it' } },
    },
    execute,
  });
  return toInternal(tool);
}

async function makeLines(
  { tools, env }: CapabilitiesOptions,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<string[]> {
  const seen = (await tools(snapshot)).filter((tool) => tool.origin.builtin !== true && !tool.traits.terminal);
  const themes = describeThemes(seen);
  const { model } = snapshot.settings;
  if (model === undefined || seen.length === 0) return themes.length > 0 ? themes : ['- No tools yet.'];
  const { askModel } = await import('./ask-model.js');
  const prompt = seen.map(({ name, description }) => `${name}: ${sanitize(description).slice(0, 500)}`).join('\n');
  const key = model.keyVariable === undefined ? undefined : env[model.keyVariable];
  const answer = await askModel({ model, key, system: SYSTEM, prompt, signal });
  const names = seen.map((tool) => tool.name);
  // Lines of the model that have the wrong form or contain a tool name are dropped.
  const lines = answer
    .split('\n')
    .map((line) => sanitize(line).trim())
    .filter((line) => /^[-*] \S/.test(line) && !namesTool(line, names))
    .map((line) => `- ${line.slice(2)}`);
  return lines.length > 0 ? lines : themes;
}

/** Returns the inventory of a directory for a loop; empty if there is none. */
export function readCapabilities(directory: string): string {
  let text: string | undefined;
  try {
    text = readOwn(directory, join(directory, '.agents', FILE));
  } catch {
    // An unreadable inventory is not used.
  }
  const front = text === undefined ? null : FRONTMATTER.exec(text);
  const body = front?.index === 0 ? text!.slice(front[0].length) : (text ?? '');
  return sanitize(body).trim().slice(0, MAX_CHARACTERS);
}

// A link out of the workspace must not be read or replaced.
function readOwn(directory: string, path: string): string | undefined {
  const contained = containedPath(path, { base: directory, roots: [directory] });
  return contained === undefined ? undefined : readTextFile(contained, 256 * 1024);
}

function containedFile(workdir: string, path: string): string {
  const directory = dirname(path);
  const contained = containedPath(directory, { base: workdir, roots: [workdir] });
  if (contained !== undefined) return join(contained, basename(path));
  throw new ToolError('path_escape', `${directory} is a link out of ${workdir}; nothing was written`, {
    hint: 'replace the link with a directory',
  });
}
