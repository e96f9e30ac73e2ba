// Writes an inventory of what the tools can do, by theme.

import { basename, dirname, join } from 'node:path';
import type { ToolContext } from '../core/context.js';
import { ToolError } from '../core/error.js';
import type { Snapshot, World } from '../core/snapshot.js';
import { sanitize } from '../core/text.js';
import type { CallInternals, Tool } from '../core/tool.js';
import { containedPath } from '../files/contained-path.js';
import { writeFileAtomic } from '../files/write.js';
import { describeThemes, namesTool } from './inventory.js';
import { FRONTMATTER, INVENTORY, readOwn } from './inventory-file.js';

export interface CapabilitiesOptions {
  /** The tools that a model may see. */
  readonly tools: (snapshot: Snapshot) => Promise<readonly Tool[]>;
  /** The environment that holds the key of the configured model. */
  readonly env: World['env'];
}

const SYSTEM =
  'You write inventories. Answer with a list in Markdown, a line a theme, each "- Theme: what can be done", and nothing ' +
  'else. Say what can be done, never the name of a tool.';

export function createRefresh(options: CapabilitiesOptions) {
  return async (
    { dry_run: dryRun = false }: { dry_run?: boolean },
    context: ToolContext,
    internals?: CallInternals,
  ) => {
    const { workdir, signal } = context;
    const path = join(workdir, '.agents', INVENTORY);
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

function containedFile(workdir: string, path: string): string {
  const directory = dirname(path);
  const contained = containedPath(directory, { base: workdir, roots: [workdir] });
  if (contained !== undefined) return join(contained, basename(path));
  throw new ToolError('path_escape', `${directory} is a link out of ${workdir}; nothing was written`, {
    hint: 'replace the link with a directory',
  });
}
