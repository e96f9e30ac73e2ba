// Tests of JSON Schemas with invalid keywords: refused where they are written, and left to the servers they come from.

import { describe, expect } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolError } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { createModuleWorkspace } from '../../support/modules.js';
import { spec } from '../../support/spec.js';
import { createUpstreamWorkspace, remoteTool } from '../../support/upstream-workspace.js';

const ofProperty = (schema: unknown): object => ({ type: 'object', properties: { count: schema } });

/** Schemas with what the error says, and what its hint says. */
const INVALID: readonly (readonly [object, string, string])[] = [
  [ofProperty({ type: 'int' }), '/properties/count/type "int" is not a type', 'write type: "integer"'],
  [ofProperty({ type: 'String' }), '"String" is not a type', 'write type: "string"'],
  [ofProperty({ type: ['bool', 'null'] }), '"bool" is not a type', 'write type: "boolean"'],
  [ofProperty({ type: 'date' }), '"date" is not a type', 'format: "date"'],
  [ofProperty({ type: 'any' }), '"any" is not a type', 'leave out type'],
  [ofProperty({ type: 'strng' }), '"strng" is not a type', 'did you mean "string"?'],
  [ofProperty({ type: { type: 'string' } }), '/properties/count/type must be the name of a type', 'integer'],
  [ofProperty({ type: 'array', items: { type: 'str' } }), '/properties/count/items/type "str"', '"string"'],
  [ofProperty({ anyOf: [{ type: 'float' }] }), '/properties/count/anyOf/0/type "float"', '"number"'],
  [{ ...ofProperty({ $ref: '#/$defs/n' }), $defs: { n: { type: 'number', minimum: '1' } } }, '/minimum must', '1'],
  [ofProperty({ type: 'string', required: true }), '/properties/count/required must be an array', 'beside properties'],
  [ofProperty({ enum: 'a' }), '/properties/count/enum must be an array', 'enum: ["one", "two"]'],
  [ofProperty('string'), '/properties must be schemas by name', '{ type: "string" }'],
  [{ type: 'object', properties: ['count'] }, '/properties must be schemas by name', 'properties: {'],
  [ofProperty({ anyOf: { type: 'string' } }), '/properties/count/anyOf must be an array of schemas', 'anyOf: ['],
  [ofProperty({ type: 'array', items: 'string' }), '/properties/count/items must be a schema', 'items: {'],
  [{ count: { type: 'number' } }, 'is a table of schemas: count is one', 'type: "object", properties: { count: … }'],
];

describe.concurrent('an invalid schema', () => {
  spec('TOOL-29', 'is refused by defineTool, with the property and what to write', () => {
    for (const field of ['inputSchema', 'outputSchema'] as const)
      for (const [schema, message, hint] of INVALID) {
        const define = () => defineTool({ name: 'x', description: 'X.', [field]: schema, execute: () => 'x' });
        expect(define).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
        expect(define).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }));
        expect(define).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
      }
  });

  spec('TOOL-29 ERR-5', 'with hidden characters is named without them', () => {
    for (const [schema] of INVALID) {
      const hidden = JSON.parse(JSON.stringify(schema).replace(/"(count|int|strng|n)"/g, '"$1\\u202e\\u001b[2K"'));
      try {
        defineTool({ name: 'x', description: 'X.', inputSchema: hidden, execute: () => 'x' });
      } catch (error) {
        const { message, hint } = error as ToolError;
        expect(`${message} ${hint}`).not.toMatch(/[\u001b\u202e]/);
      }
    }
  });

  spec('TOOL-29', 'is one of more than 20,000 parts', () => {
    const define = (parts: number) => {
      const properties = Object.fromEntries(Array.from({ length: parts - 1 }, (_, at) => [`p${at}`, {}]));
      return defineTool({
        name: 'x',
        description: 'X.',
        inputSchema: { type: 'object', properties },
        execute: () => 'x',
      });
    };
    expect(define(20_000).name).toBe('x');
    expect(() => define(20_001)).toThrow('has more than 20000 parts');
  });

  spec('TOOL-29 TOOL-3', 'of an input is one that is not of an object', () => {
    for (const inputSchema of [{ type: 'string' }, { type: ['array', 'null'] }, z.string(), z.array(z.string())])
      expect(() => defineTool({ name: 'x', description: 'X.', inputSchema, execute: () => 'x' } as never)).toThrow(
        expect.objectContaining({ code: 'invalid_definition', hint: expect.stringContaining('z.object({ … })') }),
      );
    for (const inputSchema of [{}, { type: ['object', 'null'] }, z.union([z.object({ a: z.string() }), z.object({})])])
      defineTool({ name: 'x', description: 'X.', inputSchema, execute: () => 'x' } as never);
  });

  spec('TOOL-29', 'is a problem of the file of a tool or skill', async () => {
    const workspace = createModuleWorkspace();
    const schema = JSON.stringify(ofProperty({ type: 'int' }));
    const definition = `name: 'a', description: 'A.', inputSchema: ${schema}, execute: () => 'x'`;
    workspace.module('a.tool.mjs', `export const tool = { ${definition} };\n`);
    const tools = `[{ "name": "b", "description": "B.", "parameters": ${schema} }]`;
    const execution = '[{ "tool": "b", "binary": "echo", "subcommand": "x" }]';
    workspace.write(
      '.agents/skills/b/tools.json',
      `{ "tools": ${tools}, "allowlist": { "echo": ["x"] }, "execution": ${execution} }`,
    );
    workspace.write('.agents/skills/b/SKILL.md', '---\nname: b\ndescription: B.\n---\n');
    const metadata = `metadata:\n  params: ${schema}\n`;
    workspace.write('.agents/skills/c/SKILL.md', `---\nname: c\ndescription: C.\n${metadata}---\n`);
    workspace.script('d', '#!/bin/sh\n# @description D.\n# @param count intt How many\necho\n');
    const { stdout } = await wield(workspace, ['check', '--json']);
    expect(stdout.match(/\\"int\\" is not a type[^}]*write type: \\"integer\\"/g)).toHaveLength(3);
    expect(stdout).toContain('intt');
    const { tools: listed } = json(await wield(workspace, ['list', '--json']));
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['read_skill', 'd', 'b']);
  });

  spec('TOOL-29 UPS-2', 'of a server is left to the server', async () => {
    const workspace = createUpstreamWorkspace({ far: { mode: 'changing' } });
    const inputSchema = {
      type: 'object',
      properties: { text: { type: 'str' }, word: { type: 'string', required: true } },
    };
    workspace.tools('far', [remoteTool('echo', { inputSchema })]);
    const toolbox = workspace.toolbox();
    expect(await toolbox.call('far_echo', { text: 'x' })).toMatchObject({ ok: true });
    const wrong = await toolbox.call('far_echo', { text: 'x', word: 3 });
    expect(wrong).toMatchObject({ error: { code: 'invalid_input', message: expect.stringContaining('word must be') } });
    expect((await toolbox.find('far_echo')).input.json).toEqual(inputSchema);
  });

  spec('TOOL-29 OAS-2', 'of an OpenAPI document is left to its server', async () => {
    const workspace = createUpstreamWorkspace();
    const parameters = [{ name: 'count', in: 'query', schema: { type: 'int' } }];
    const get = { operationId: 'look', summary: 'Look.', parameters, responses: { 200: { description: 'x' } } };
    const document = {
      openapi: '3.1.0',
      info: {},
      servers: [{ url: 'https://api.example.com' }],
      paths: { '/x': { get } },
    };
    workspace.write('.agents/tools/far.openapi.json', JSON.stringify(document));
    const { stdout, stderr } = await wield(workspace, ['call', 'look', '--count', '3', '--dry-run']);
    expect(stderr).toBe('');
    expect(stdout).toContain('https://api.example.com/x?count=3');
  });
});
