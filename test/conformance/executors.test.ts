// Runs the shared executor suite for processes, functions and delegates.

import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { defineTool } from '../../src/index.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';
import { describeExecutor, type Subject } from './executor.js';

const BODIES: Readonly<Record<Subject['behaviour'], string>> = {
  echo: 'touch ran; printf %s "$WIELD_PARAM_TEXT"',
  wait: 'sleep 600',
  deaf: 'trap "" TERM INT; sleep 600; sleep 600',
  fail: 'printf half; exit 7',
};

describeExecutor({
  kind: 'process',
  open(workspace, { description, behaviour, type }) {
    workspace.script(
      'subject',
      `#!/bin/sh\n# @description ${description}\n# @param *text ${type} T\n${BODIES[behaviour]}\n`,
    );
    return workspace.toolbox();
  },
});

// A skill that only names another tool keeps the contract as well as that tool does.
describeExecutor({
  kind: 'delegate',
  open(workspace, { description, behaviour, type }) {
    const inner = `subject-${behaviour}`;
    workspace.script(inner, `#!/bin/sh\n# @description Inside.\n# @param *text ${type} T\n${BODIES[behaviour]}\n`);
    workspace.write(
      '.agents/skills/subject/SKILL.md',
      `---\nname: subject\ndescription: ${description}\nmetadata:\n  delegate: ${inner}\n---\n`,
    );
    return workspace.toolbox();
  },
});

const pause = () => new Promise<string>((resolve) => setTimeout(resolve, 60_000, 'late').unref());
const FUNCTIONS = {
  echo: (input: { text: string }, context: { workdir: string }) => {
    writeFileSync(join(context.workdir, 'ran'), '');
    return input.text;
  },
  wait: (_input: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    }),
  deaf: () => pause(),
  fail: () => {
    throw new Error('half');
  },
} as const;

describeExecutor({
  kind: 'function',
  open(workspace, { description, behaviour, type }) {
    const inputSchema = { type: 'object', properties: { text: { type } }, required: ['text'] };
    const subject = defineTool({ name: 'subject', description, inputSchema, execute: FUNCTIONS[behaviour] });
    return workspace.toolbox({ tools: [subject] });
  },
});

const MODULES: Readonly<Record<Subject['behaviour'], string>> = {
  echo: `({ text }, { workdir }) => { writeFileSync(workdir + '/ran', ''); return text; }`,
  wait: `(_, { signal }) => new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')));
  })`,
  deaf: `() => new Promise((resolve) => setTimeout(resolve, 60_000, 'late'))`,
  fail: `() => { throw new Error('half'); }`,
};

describeExecutor({
  kind: 'module',
  open(workspace, { description, behaviour, type }) {
    workspace.write(
      '.agents/tools/subject.tool.mjs',
      `import { writeFileSync } from 'node:fs';
export const subject = {
  name: 'subject',
  description: ${JSON.stringify(description)},
  inputSchema: { type: 'object', properties: { text: { type: '${type}' } }, required: ['text'] },
  execute: ${MODULES[behaviour]},
};
`,
    );
    return workspace.toolbox({ trust: true });
  },
});

spec('TOOL-7', 'includes the output schema in the digest of a function', async () => {
  const digest = async (type: string) => {
    const outputSchema = { type };
    const tool = defineTool({ name: 'one', description: 'D', outputSchema, execute: () => 1 });
    return (
      await createWorkspace()
        .toolbox({ tools: [tool] })
        .find('one')
    ).origin.digest;
  };
  expect(await digest('integer')).toBe(await digest('integer'));
  expect(await digest('integer')).not.toBe(await digest('number'));
});

spec('TOOL-7', 'includes every byte of a script in its digest, but not its modification time', async () => {
  const workspace = createWorkspace();
  const text = '#!/bin/sh\n# @description D\necho a\n';
  const path = workspace.script('one', text);
  const toolbox = workspace.toolbox();
  const digest = async () => (await toolbox.find('one')).origin.digest;
  const first = await digest();
  utimesSync(path, 1, 1);
  expect(await digest()).toBe(first);
  workspace.script('one', text.replace('echo a', 'echo b'));
  expect(await digest()).not.toBe(first);
  workspace.script('one', text);
  expect(await digest()).toBe(first);
});
