// Gate: the workflows name scripts that exist, fixed versions of actions, and only the permissions that they need.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../support/documents.js';

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly node: readonly string[] } };
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const DIRECTORY = join(ROOT, '.github/workflows');
const { scripts, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  engines: { node: string };
};
const workflows = readdirSync(DIRECTORY).map(
  (file) => [file, parse(readFileSync(join(DIRECTORY, file), 'utf8')) as Workflow] as const,
);

describe.each(workflows)('%s', (_, { permissions, jobs }) => {
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  test('runs scripts that exist', () => {
    const named = steps.flatMap(({ run = '' }) => [...run.matchAll(/\bnpm run ([\w:-]+)/g)].map((match) => match[1]!));
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });

  test('uses versions of actions', () => {
    for (const { uses } of steps) expect(uses ?? 'own@v1').toMatch(/@(?:v\d+(?:\.\d+)*|[0-9a-f]{40})$/);
  });

  test('may only read, unless a job says what else it needs', () => {
    expect(permissions).toEqual({ contents: 'read' });
  });

  test('puts no text of others into a shell', () => {
    for (const { run } of steps) expect(run ?? '').not.toContain('${{');
  });
});

test('tests run with the oldest Node that the package allows', () => {
  const { jobs } = workflows.find(([file]) => file === 'ci.yml')![1];
  expect(`>=${jobs.test!.strategy!.matrix.node[0]}`).toBe(engines.node);
});
