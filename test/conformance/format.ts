// The shared test suite of formats: the same greet tool in every format.

import { describe, expect } from 'vitest';
import { canonicalJson, isRecord } from '../../src/core/json.js';
import { textOf } from '../../src/index.js';
import type { NodeToolbox, NodeToolboxOptions } from '../../src/node.js';
import { json, wield } from '../support/cli.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

export const GREET = {
  name: 'greet',
  description: 'Greet someone.',
  input: {
    type: 'object',
    properties: {
      who: { type: 'string', description: 'Whom to greet' },
      shout: { type: 'boolean', description: 'In capital letters' },
    },
    required: ['who'],
  },
} as const;

export interface FormatUnderTest {
  /** As `origin.format` says it. */
  readonly name: string;
  /** Writes `GREET` in this format, or gives what the toolbox needs to have it. */
  write(workspace: Workspace): Partial<NodeToolboxOptions> | undefined;
  /** Whether the tool is a file that the command line finds too. */
  readonly onDisk: boolean;
  /** Its name, if the format determines it. */
  readonly tool?: string;
  /** Whether parameters are text only: the tool has no `shout`. */
  readonly textOnly?: boolean;
  /** Whether parameters have no descriptions. */
  readonly isUndescribed?: boolean;
  /** Whether a value cannot begin with a dash. */
  readonly refusesDash?: boolean;
}

function schemaOf({ textOnly, isUndescribed }: FormatUnderTest): unknown {
  if (textOnly !== true) return GREET.input;
  const who = isUndescribed === true ? { type: 'string' } : GREET.input.properties.who;
  return { ...GREET.input, properties: { who } };
}

/** Proves that a format gives the one model and the one behaviour. */
export function describeFormat(format: FormatUnderTest): void {
  const open = (): { toolbox: NodeToolbox; workspace: Workspace } => {
    const workspace = createWorkspace();
    const options = format.write(workspace);
    return { workspace, toolbox: workspace.toolbox(options ?? {}) };
  };

  const { tool: name = GREET.name, textOnly = false, refusesDash = false } = format;
  const schema = schemaOf(format);
  // Without what only a second parameter can show.
  const isApplicable = (input: unknown): boolean => !textOnly || !isRecord(input) || !('shout' in input);

  describe(`the ${format.name} format`, () => {
    spec('TOOL-1 TOOL-6', 'reads name, description, schema, action, origin and traits', async () => {
      const { toolbox } = open();
      expect(await toolbox.catalog.problems()).toEqual([]);
      const tool = await toolbox.find(name);
      expect(tool).toMatchObject({ name, description: GREET.description });
      expect(canonicalSchema(tool.input.json)).toBe(canonicalSchema(schema));
      expect(tool.origin.format).toBe(format.name);
      expect(tool.origin.digest).toMatch(/^[0-9a-f]{64}$/);
      expect(tool.traits).toMatchObject({ tags: [], hidden: false, terminal: false, examples: [] });
      expect(Object.keys(tool.action)).toContain('kind');
    });

    spec('RES-8 TOOL-1', 'lists the tool that is found by name', async () => {
      const { toolbox } = open();
      const [listed, ...others] = await toolbox.list();
      const found = await toolbox.find(name);
      expect(others).toEqual([]);
      expect(listed).toMatchObject({
        name: found.name,
        description: found.description,
        traits: found.traits,
      });
      expect(listed!.input.json).toEqual(found.input.json);
    });

    spec('RUN-1 TOOL-20', 'greets', async () => {
      const { toolbox } = open();
      for (const [input, greeting] of [
        [{ who: 'Ada' }, 'Hello, Ada'],
        [{ who: 'Ada', shout: false }, 'Hello, Ada'],
        [{ who: 'Ada', shout: true }, 'HELLO, ADA!'],
        [{ who: '$(id) "x" é' }, 'Hello, $(id) "x" é'],
        [{ who: '-n' }, 'Hello, -n'],
      ] as const) {
        if (!isApplicable(input)) continue;
        if (refusesDash && input.who.startsWith('-')) {
          expect((await toolbox.call(name, input)).error?.code).toBe('invalid_input');
          continue;
        }
        const result = await toolbox.call(name, input);
        expect(result).toMatchObject({ ok: true, meta: { durationMs: expect.any(Number) } });
        expect(textOf(result).replace(/\n$/, '')).toBe(greeting);
      }
    });

    if (textOnly)
      spec('RUN-4', 'repairs slightly wrong input and reports it', async () => {
        const { toolbox } = open();
        const result = await toolbox.call(name, '{"who":"Ada"}');
        expect(textOf(result).replace(/\n$/, '')).toBe('Hello, Ada');
        expect(result.meta.repaired).toEqual([{ path: '', repair: 'text parsed as JSON' }]);
      });
    else
      spec('RUN-4', 'repairs slightly wrong input and reports it', async () => {
        const { toolbox } = open();
        const result = await toolbox.call(name, { who: 'Ada', shout: 'true' });
        expect(textOf(result).replace(/\n$/, '')).toBe('HELLO, ADA!');
        expect(result.meta.repaired).toEqual([{ path: '/shout', repair: 'text parsed as JSON' }]);
      });

    spec('RUN-3', 'rejects the same input with the same faults', async () => {
      const { toolbox } = open();
      const refusals: [unknown, string[]][] = [
        [{}, ['/who']],
        [{ who: 1 }, ['/who']],
        [{ who: 'Ada', shout: 'loud' }, ['/shout']],
        [{ who: 'Ada', wave: true }, ['/wave']],
        [{ wave: true, shout: 3 }, ['/shout', '/wave', '/who']],
        [[], ['']],
        [null, ['']],
      ];
      for (const [input, paths] of refusals.filter(([given]) => isApplicable(given))) {
        const result = await toolbox.call(name, input);
        expect(result).toMatchObject({ ok: false, error: { code: 'invalid_input' } });
        const faults = result.error?.data?.faults as { path: string }[];
        expect([input, faults.map((fault) => fault.path).sort()]).toEqual([input, paths]);
        expect(result.error?.hint).toMatch(/\S/);
      }
    });

    if (format.onDisk) {
      spec('CLI-6 CLI-8', 'behaves the same on the command line', async () => {
        const { workspace } = open();
        const listed = json(await wield(workspace, ['list', '--json']));
        expect(listed.tools).toMatchObject([{ name, description: GREET.description, format: format.name }]);
        const said = await wield(workspace, ['call', name, '--who', 'Ada', ...(textOnly ? [] : ['--shout'])]);
        expect([said.status, said.stdout.trimEnd()]).toEqual([0, textOnly ? 'Hello, Ada' : 'HELLO, ADA!']);
        expect((await wield(workspace, ['call', name, '--input', '{}'])).status).toBe(2);
      });
    }
  });
}

// What a generator adds without changing what is accepted is left out.
function canonicalSchema(schema: unknown): string {
  return canonicalJson(isRecord(schema) ? { ...schema, $schema: undefined, additionalProperties: undefined } : schema);
}
