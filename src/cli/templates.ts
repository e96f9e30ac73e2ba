// New files of tools: each repeats its input until it is written, and has a test.

import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { findDestructiveWord } from '../core/destructive-words.js';
import { systemReason, ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import { makeDirectory } from '../files/make-directory.js';
import { fromFileUri, isWithin } from '../files/within.js';
import type { NodeToolbox } from '../node.js';
import { readVersion } from '../workspace/machine.js';
import { shortPath } from './print.js';

/** The kinds of tools that `wield new` creates; the first one is the default. */
export const TEMPLATES = ['bash', 'python', 'node', 'ts', 'tools-json'] as const;

export interface NewFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

const describe = (name: string): string => `${name}: write here what it does, and when to use it.`;
const PARAMETER = 'What to work on';
// A tool whose name says that it destroys something asks before a model's call (POL-38).
const isDestructive = (name: string): boolean => findDestructiveWord(name) !== undefined;

const header = (comment: string, name: string): string => `${comment} @description ${describe(name)}
${comment} @param *text string  ${PARAMETER}
${isDestructive(name) ? `${comment} @destructive\n` : ''}${comment} @example {"text":"hello"}

${comment} Mark it above: @readonly if it changes nothing, @destructive if a change cannot be undone.`;

const bash = (name: string): string => `#!/usr/bin/env bash
${header('#', name)}
set -euo pipefail

echo "${name}: $WIELD_PARAM_TEXT"
`;

const python = (name: string): string => `#!/usr/bin/env python3
${header('#', name)}

import json
import sys

parameters = json.load(sys.stdin)
print(f"${name}: {parameters['text']}")
`;

// Spelled in parts: this file uses neither itself.
const [STDIN, LOG] = [['process', 'stdin'].join('.'), ['console', 'log'].join('.')];

const node = (name: string): string => `#!/usr/bin/env node
${header('//', name)}

const chunks = [];
${STDIN}.on('data', (chunk) => chunks.push(chunk));
${STDIN}.on('end', () => {
  const { text } = JSON.parse(Buffer.concat(chunks).toString());
  ${LOG}(\`${name}: \${text}\`);
});
`;

const ts = (name: string): string => `import { defineTool } from 'wield';

export default defineTool({
  name: ${JSON.stringify(name)},
  description: ${JSON.stringify(describe(name))},
  // readOnly: true if it changes nothing, destructive: true if a change cannot be undone.
${isDestructive(name) ? '  destructive: true,\n' : ''}  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', description: '${PARAMETER}' } },
    required: ['text'],
  },
  execute: ({ text }: { text: string }) => \`${name}: \${text}\`,
});
`;

const skill = (name: string): string => `---
name: ${name}
description: ${JSON.stringify(describe(name))}
---

Write here how to use \`${name}\`.
`;

const toolsJson = (name: string, schema: string): string =>
  `${JSON.stringify(
    {
      $schema: schema,
      tools: [
        {
          name,
          description: describe(name),
          parameters: {
            type: 'object',
            properties: { text: { type: 'string', description: PARAMETER } },
            required: ['text'],
          },
        },
      ],
      allowlist: { printf: [''] },
      execution: [
        {
          tool: name,
          binary: 'printf',
          subcommand: '',
          args: [{ kind: 'literal', value: `${name}: %s\\n` }, { param: 'text' }],
        },
      ],
    },
    null,
    2,
  )}\n`;

/** Returns the files of a new tool in a directory. */
export function toFiles(name: string, template: (typeof TEMPLATES)[number], workdir: string): NewFile[] {
  const descriptor = `skills/${name}/tools.json`;
  const schema = schemaAddress('tools', workdir, `.agents/${descriptor}`);
  const tool = (path: string, text: string, mode = 0o644): NewFile => ({ path: `.agents/${path}`, text, mode });
  const texts = { bash, python, node };
  const own =
    template === 'ts'
      ? [tool(`tools/${name}.tool.ts`, ts(name))]
      : template === 'tools-json'
        ? [tool(`skills/${name}/SKILL.md`, skill(name)), tool(descriptor, toolsJson(name, schema))]
        : [tool(`tools/${name}`, texts[template](name), 0o755)];
  const check = `actual=$(wield call ${name} --text hello) || exit 1
[ "$actual" = "${name}: hello" ] || { echo "${name}: got $actual" >&2; exit 1; }`;
  return [...own, testFile(name, check)];
}

/** Returns the file that tests a tool, a shell script. */
export function testFile(name: string, check: string): NewFile {
  const text = `#!/bin/sh
# Tests ${name}. Run it in the directory of the workspace: sh .agents/tests/${name}.sh
${check}
echo "${name}: ok"
`;
  return { path: `.agents/tests/${name}.sh`, text, mode: 0o755 };
}

/** Returns a path into the `wield` that the project depends on, which needs no network, or the address of this version. */
export function schemaAddress(name: string, workdir: string, file: string): string {
  const installed = join(workdir, 'node_modules', 'wield', 'schemas', `${name}.json`);
  if (!existsSync(installed)) return `https://unpkg.com/wield@${readVersion()}/schemas/${name}.json`;
  return relative(dirname(join(workdir, file)), installed)
    .split(sep)
    .join('/');
}

/** Creates a file and its directory; returns false if it exists. */
export function createFile(path: string, text: string, mode: number): boolean {
  try {
    makeDirectory(dirname(path), 0o777);
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && existsSync(path)) return false;
    throw new ToolError('io', `cannot write ${path}: ${systemReason(error)}`, {
      hint: 'check the permissions of the directory',
    });
  }
  // Not in writeFileSync, where the umask would apply.
  chmodSync(path, mode);
  return true;
}

/** Describes the tool that a name refers to if a file defines a tool of that name too; undefined if it is that of the file. */
export async function findTaken(toolbox: NodeToolbox, name: string, file: string): Promise<string | undefined> {
  const { places } = toolbox.state.snapshot();
  const rankOf = (path: string): number => {
    const at = places.findIndex(({ directory }) => isWithin(directory, path));
    return at === -1 ? places.length : at;
  };
  const { tools, denied, unlisted } = await toolbox.catalog.survey({ now: true });
  const found = [...tools, ...unlisted, ...denied.map(({ tool }) => tool)].find((tool) => tool.name === name);
  if (found === undefined) return undefined;
  const { builtin, directory, server, uri } = found.origin;
  // Those for tasks give way.
  if (builtin) return found.traits.group === 'task' ? undefined : 'a built-in tool';
  if (directory === null) return server === null ? 'another tool' : `a tool of the server ${quoteOutside(server, 60)}`;
  if (fromFileUri(uri) === file || rankOf(directory) > rankOf(file)) return undefined;
  return `a tool in ${shortPath(directory, toolbox)}`;
}
