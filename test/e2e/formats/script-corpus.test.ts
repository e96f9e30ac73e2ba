// Runs the shared cases of the script contract, if available, with a reason for every difference.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { CORPORA, NO_CORPORA } from '../../support/corpora.js';
import { isRoot, NOT_USER } from '../../support/machine.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

interface Case {
  readonly id: string;
  readonly filename: string;
  readonly mode: string;
  readonly body: string;
  readonly expect: {
    readonly listed: boolean;
    readonly reason?: string;
    readonly description?: string;
    readonly params?: readonly { name: string; type: string; description: string; required: boolean }[];
    readonly call?: { args: Record<string, unknown>; is_error: boolean; contains: readonly string[] };
  };
}

const FILE = resolve(CORPORA, 'scripts/contract-cases.jsonl');
const cases: Case[] = existsSync(FILE)
  ? readFileSync(FILE, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Case)
  : [];

// Each difference: the statement that says so, and what holds instead.
const DIFFERENT: Readonly<Record<string, { readonly why: string; readonly expect: Partial<Case['expect']> }>> = {
  'blank-ends-header': {
    why: 'SCR-3: a blank line does not end the header',
    expect: { params: [{ name: 'a', type: 'string', description: 'x', required: false }] },
  },
  continuation: {
    why: 'SCR-4: a line that follows a parameter goes on with its text',
    expect: { params: [{ name: 'a', type: 'string', description: 'A not part of a', required: true }] },
  },
  'exec-env-stdin': {
    why: 'SCR-9: parameters that the header does not declare are refused',
    expect: { call: { args: { target: 'x.txt', force: true }, is_error: true, contains: [] } },
  },
};
// The reasons of the cases, in our words.
const REASONS: Readonly<Record<string, RegExp>> = {
  'not executable': /^not executable$/,
  'invalid name': /name/,
  'missing @description': /^missing @description$/,
  'missing @description (after line 80)': /^missing @description$/,
  unreadable: /^cannot be read/,
};
// Names with a dot and hidden names are skipped (SCR-1), with a hint for the one with a header.
const QUIET = new Set(['bad-name:.hidden']);
describe('contract cases', () => {
  specIf(existsSync(FILE), NO_CORPORA, 'SCR-1', 'the corpus has its cases', () => {
    expect(cases.length).toBeGreaterThan(20);
    for (const id of Object.keys(DIFFERENT)) expect(cases.map((one) => one.id)).toContain(id);
  });

  for (const one of cases) {
    const different = DIFFERENT[one.id];
    const expected = { ...one.expect, ...different?.expect };
    const title = different === undefined ? one.id : `${one.id}, differently (${different.why})`;
    const body = async (): Promise<void> => {
      const workspace = createWorkspace();
      workspace.script(one.filename, one.body, Number.parseInt(one.mode, 8));
      const toolbox = workspace.toolbox();
      const tools = await toolbox.list();
      expect(tools.map((tool) => tool.name)).toEqual(expected.listed ? [one.filename] : []);
      if (!expected.listed) {
        const problems = await toolbox.catalog.problems();
        expect(problems).toHaveLength(QUIET.has(one.id) ? 0 : 1);
        if (!QUIET.has(one.id)) expect(problems[0]!.message).toMatch(REASONS[expected.reason!]!);
        return;
      }
      const [tool] = tools;
      if (expected.description !== undefined) expect(tool!.description).toBe(expected.description);
      if (expected.params !== undefined) {
        const { properties, required = [] } = tool!.input.json as {
          properties: Record<string, { type: string; description: string }>;
          required?: string[];
        };
        expect(
          Object.entries(properties).map(([name, schema]) => ({
            name,
            ...schema,
            required: required.includes(name),
          })),
        ).toEqual(expected.params);
      }
      if (expected.call !== undefined) {
        const result = await toolbox.call(one.filename, expected.call.args);
        expect(result.ok).toBe(!expected.call.is_error);
        for (const text of expected.call.contains) expect(textOf(result)).toContain(text);
      }
    };
    if (one.id === 'unreadable') specIf(!isRoot, NOT_USER, 'SCR-19', title, body);
    else spec('SCR-1 SCR-2 SCR-3 SCR-4 SCR-6 SCR-7 SCR-10 SCR-12 SCR-13', title, body);
  }
});
