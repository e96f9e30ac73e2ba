// `wield remove`: removes a tool of the workspace or of the user, and brings it back.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assertPerson } from '../../core/caller.js';
import { isToolError, ToolError } from '../../core/error.js';
import { count, nearest, quoteOutside, shortenPath, spellOut } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { fromFileUri, isWithin } from '../../files/within.js';
import type { NodeToolbox } from '../../node.js';
import { renewTrust } from '../clients.js';
import { ASKS, confirm, RUN_HOOKS } from '../consent.js';
import { report } from '../print.js';
import { findLast, moveToRemoved, restoreLast } from '../removed-files.js';
import { required, toggle, type Verb, type VerbCall } from '../verb.js';

export const remove: Verb = {
  usage:
    'remove NAME [--dry-run] [--yes]\n  wield remove --undo [NAME] [--dry-run] [--yes]\n  wield remove --source <source>',
  summary: 'Remove a tool of this workspace, or your own, with its test. --undo brings back what was removed last.',
  examples: ['wield remove greet', 'wield remove --undo'],
  flags: {
    source: toggle('Remove a source and everything installed from it'),
    undo: toggle('Bring back what was removed last, or NAME'),
    'run-hooks': RUN_HOOKS,
    ...ASKS,
  },
  positionals: 1,
  completes: 'tools',
  async run(call) {
    const { flags, positionals, terminal, json, cwd, dryRun } = call;
    const [named] = positionals;
    const toolbox = call.toolbox();
    const { wieldHome, insideCall, world } = toolbox.machine;
    if (!dryRun) assertPerson(insideCall, 'removing a tool');
    const shorten = (path: string): string => spellOut(shortenPath(path, cwd, world.home));
    // Your own tools are outside the project (CLI-31).
    const mayChange = async (question: string, paths: readonly string[]): Promise<boolean> => {
      if (paths.every((path) => isWithin(toolbox.workspace.workdir, path))) return true;
      if (!json) for (const path of paths) terminal.out(`  file      ${shorten(path)}\n`);
      return confirm(call, question, paths.map(shorten).join(', '));
    };
    if (flags.has('undo')) {
      const { name: last, paths } = findLast(wieldHome, named);
      if (!dryRun && !(await mayChange(`Bring back ${last}?`, paths))) return 0;
      if (!dryRun) await renewTrust(toolbox, () => restoreLast(wieldHome, last));
      const text = paths.map((path) => `  ${dryRun ? 'would restore' : 'restored'}  ${shorten(path)}\n`).join('');
      return report(call, { name: last, dryRun, restored: paths }, text);
    }
    const name = required(named, 'name; usage: wield remove NAME', 'wield list shows the tools');
    const found = await findFiles(toolbox, name);
    if (found === undefined) return removeOther(call, name, toolbox);
    if (!dryRun && !(await mayChange(`Remove ${name}?`, found.paths))) return 0;
    if (!dryRun) await renewTrust(toolbox, () => moveToRemoved(wieldHome, name, found.paths, world.now()));
    const lines = found.paths.map((path) => `  ${dryRun ? 'would remove' : 'removed'}  ${shorten(path)}\n`);
    const text = lines.join('') + (dryRun ? '' : '  Undo     wield remove --undo\n');
    return report(call, { name, dryRun, tools: found.tools, removed: found.paths }, text);
  },
};

// The files of a tool, or of the document or module that it is the name of; undefined if there is no such tool.
async function findFiles(toolbox: NodeToolbox, name: string) {
  const all = await toolbox.list({ hidden: true });
  const tool = all.find((one) => one.name === name) ?? all.find(({ traits }) => traits.group === name);
  if (tool === undefined) return undefined;
  const { owner, uri, source, server } = tool.origin;
  if (owner !== 'workspace' && owner !== 'user') throw notRemovable(tool, source ?? server ?? '');
  const file = fromFileUri(uri);
  if (file === undefined) throw notRemovable(tool, '');
  const shared = all.filter(({ origin }) => fromFileUri(origin.uri) === file);
  // The directory of a skill belongs to its tools.
  const path = /^(?:tools\.json|SKILL\.md)$/i.test(file.split('/').at(-1)!) ? dirname(file) : file;
  const base = path.split('/').at(-1)!.replace(/\..*$/s, '');
  if (shared.length > 1 && name !== base)
    throw new ToolError('conflict', `${quoteOutside(name, 60)} is one of ${count(shared.length, 'tool')} of ${path}`, {
      hint: `edit the file, or remove all of them: wield remove ${base}`,
    });
  const test = join(dirname(dirname(path)), 'tests', `${base}.sh`);
  return { paths: [path, ...(existsSync(test) ? [test] : [])], tools: shared.map((one) => one.name) };
}

function notRemovable({ name, origin }: Tool, where: string): ToolError {
  const hint =
    origin.owner === 'upstream'
      ? `it is a tool of a server: wield mcp remove ${where}`
      : origin.owner === 'package'
        ? `it is installed: wield uninstall tool:${name}`
        : 'it is built in; a rule can deny it';
  return new ToolError('conflict', `${quoteOutside(name, 60)} is not a file of yours`, { hint });
}

// In mind, `remove` removes a source (docs/coming-from/mind.md).
async function removeOther(call: VerbCall, name: string, toolbox: NodeToolbox): Promise<number> {
  const { removeSource } = await import('./uninstall.js');
  try {
    return await removeSource.run(call);
  } catch (error) {
    if (!isToolError(error) || error.code !== 'not_found') throw error;
    const [close] = nearest(
      name,
      (await toolbox.list({ hidden: true })).map((tool) => tool.name),
    );
    const all = 'wield list shows the tools, wield list --sources the sources';
    throw new ToolError('not_found', `neither a tool nor a source is named "${quoteOutside(name, 60)}"`, {
      hint: close === undefined ? all : `did you mean ${quoteOutside(close, 60)}? ${all}`,
    });
  }
}
