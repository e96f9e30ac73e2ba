// The files of new tools: each greets someone, and has a test.

/** The kinds of tools that `wield new` creates; the first one is the default. */
export const TEMPLATES = ['bash', 'python', 'node', 'ts', 'tools-json'] as const;

export type Template = (typeof TEMPLATES)[number];

export interface NewFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

const header = (comment: string): string => `${comment} @description Greet someone.
${comment} @param *name string  Whom to greet
${comment} @readonly
${comment} @example {"name":"Ada"}`;

const bash = (): string => `#!/usr/bin/env bash
${header('#')}
set -euo pipefail

echo "Hello, $WIELD_PARAM_NAME!"
`;

const python = (): string => `#!/usr/bin/env python3
${header('#')}

import json
import sys

parameters = json.load(sys.stdin)
print(f"Hello, {parameters['name']}!")
`;

// Spelled in parts: this file uses neither itself.
const [STDIN, LOG] = [['process', 'stdin'].join('.'), ['console', 'log'].join('.')];

const node = (): string => `#!/usr/bin/env node
${header('//')}

const chunks = [];
${STDIN}.on('data', (chunk) => chunks.push(chunk));
${STDIN}.on('end', () => {
  const { name } = JSON.parse(Buffer.concat(chunks).toString());
  ${LOG}(\`Hello, \${name}!\`);
});
`;

const ts = (name: string): string => `import { defineTool } from 'wield';

export default defineTool({
  name: ${JSON.stringify(name)},
  description: 'Greet someone.',
  readOnly: true,
  inputSchema: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Whom to greet' } },
    required: ['name'],
  },
  execute: ({ name }: { name: string }) => \`Hello, \${name}!\`,
});
`;

const skill = (name: string): string => `---
name: ${name}
description: Greet someone.
---

\`${name}\` greets someone.
`;

const toolsJson = (name: string): string =>
  `${JSON.stringify(
    {
      tools: [
        {
          name,
          description: 'Greet someone.',
          parameters: {
            type: 'object',
            properties: { name: { type: 'string', description: 'Whom to greet' } },
            required: ['name'],
          },
        },
      ],
      allowlist: { printf: [''] },
      execution: [
        {
          tool: name,
          binary: 'printf',
          subcommand: '',
          args: [{ kind: 'literal', value: 'Hello, %s!\\n' }, { param: 'name' }],
        },
      ],
    },
    null,
    2,
  )}\n`;

/** Returns the files of a new tool. */
export function toFiles(name: string, template: Template): NewFile[] {
  const tool = (path: string, text: string, mode = 0o644): NewFile => ({ path: `.agents/${path}`, text, mode });
  const texts = { bash, python, node };
  const own =
    template === 'ts'
      ? [tool(`tools/${name}.tool.ts`, ts(name))]
      : template === 'tools-json'
        ? [tool(`skills/${name}/SKILL.md`, skill(name)), tool(`skills/${name}/tools.json`, toolsJson(name))]
        : [tool(`tools/${name}`, texts[template](), 0o755)];
  const check = `actual=$(wield call ${name} --name Ada) || exit 1
[ "$actual" = "Hello, Ada!" ] || { echo "${name}: got $actual" >&2; exit 1; }`;
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
