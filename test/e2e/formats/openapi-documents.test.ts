// Operations with every kind of parameter and body, called with random input against a server that checks what it gets.

import { describe, expect } from 'vitest';
import { createNodeToolbox } from '../../../src/node.js';
import { rounds } from '../../support/effort.js';
import { callOperations, startRecorder } from '../../support/openapi-calls.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const text = { type: 'string' };
const list = { type: 'array', items: text };
const pair = { type: 'object', properties: { R: { type: 'integer' }, G: text } };
const at = (name: string, place: string, schema: unknown, more: object = {}) => ({
  ...{ name, in: place, schema, required: place === 'path' },
  ...more,
});
const deep = { style: 'deepObject', explode: true };
const account = {
  type: 'object',
  required: ['id', 'name', 'link', 'made', 'label'],
  properties: {
    id: { type: 'string', readOnly: true },
    name: { type: 'string', minLength: 2, default: 'none' },
    score: { type: 'number', minimum: 0, exclusiveMinimum: true },
    state: { type: 'string', nullable: true, enum: ['open', 'shut'] },
    parent: { $ref: '#/components/schemas/Account' },
    link: { allOf: [{ $ref: '#/components/schemas/Link' }, { readOnly: true }] },
    made: { $ref: '#/components/schemas/Made' },
    label: { type: 'string', pattern: '^[a-z\\-\\:\\_]+\\:[\\d]$' },
  },
};
const schemas = {
  Account: account,
  Link: { type: 'object', properties: { to: text } },
  Made: { type: 'string', readOnly: true },
};
const body = (type: string, schema: unknown, more = {}) => ({
  requestBody: { required: true, content: { [type]: { schema, ...more } } },
  responses: {},
});
const FORM = 'application/x-www-form-urlencoded';
const rows = { type: 'array', items: { type: 'object', properties: { price: text, tags: list } } };

const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'T', version: '1' },
  components: { schemas },
  paths: {
    '/simple/{a}/{b}': { get: { parameters: [at('a', 'path', list), at('b', 'path', pair)] } },
    '/label/{a}/{b}': {
      get: {
        parameters: [
          at('a', 'path', { type: 'array', items: { type: 'integer' } }, { style: 'label' }),
          at('b', 'path', { type: 'integer' }, { style: 'label', explode: true }),
        ],
      },
    },
    '/matrix/{a}/{b}': {
      get: {
        parameters: [
          at('a', 'path', list, { style: 'matrix', explode: true }),
          at('b', 'path', pair, { style: 'matrix' }),
        ],
      },
    },
    '/query': {
      get: {
        parameters: [
          at('many', 'query', list),
          at('one', 'query', list, { explode: false }),
          at('spaces', 'query', { type: 'array', items: { type: 'integer' } }, { style: 'spaceDelimited' }),
          at('pipes', 'query', list, { style: 'pipeDelimited', explode: false }),
          at('deep', 'query', { type: 'object', properties: { a: pair, b: list, c: rows } }, deep),
          at('expand[]', 'query', list, { required: true }),
          { name: 'json', in: 'query', content: { 'application/json': { schema: pair } } },
          at('spaced', 'query', list, { style: 'spaceDelimited', explode: false }),
          at('X-Ids', 'header', { type: 'array', items: { type: 'integer' } }),
          at('X-Rows', 'header', { type: 'array', items: pair }),
          at('Authorization', 'header', text, { required: true }),
          at('X-Mode', 'header', { type: 'string', enum: ['a', 'b'], default: 'a' }),
          at('session', 'cookie', text),
        ],
      },
    },
    '/json': { post: body('application/json', { $ref: '#/components/schemas/Account' }) },
    '/either': { patch: body('application/json', { oneOf: [{ $ref: '#/components/schemas/Account' }, list] }) },
    '/form': {
      post: body(
        FORM,
        { type: 'object', properties: { plain: text, nested: pair, list, rows, expand: list } },
        { encoding: { rows: deep, expand: deep } },
      ),
    },
    '/combined': {
      post: body(FORM, { allOf: [{ type: 'object', properties: { rows } }] }, { encoding: { rows: deep } }),
    },
    '/parts': {
      post: body('multipart/form-data', {
        type: 'object',
        properties: {
          files: { type: 'array', items: { type: 'string', format: 'binary' } },
          meta: pair,
          list,
        },
      }),
    },
    '/<odd>/{a}': { get: { parameters: [at('a', 'path', { $ref: '#/components/schemas/Made' })] } },
    '/undeclared': {
      post: body('application/json', {
        type: 'object',
        required: ['enum (with example) *required', 'a'],
        properties: { a: text },
      }),
    },
    '/optional': {
      put: {
        requestBody: {
          content: {
            'application/json': { schema: { type: 'object', required: ['a'], properties: { a: text, b: text } } },
          },
        },
      },
    },
  },
};

const SWAGGER = {
  swagger: '2.0',
  info: { title: 'T', version: '1' },
  consumes: ['application/xml', 'application/json'],
  paths: {
    '/lists/{p}': {
      get: {
        parameters: [
          { name: 'p', in: 'path', required: true, type: 'array', items: text, collectionFormat: 'pipes' },
          ...['csv', 'ssv', 'tsv', 'pipes', 'multi'].map((collectionFormat) => ({
            ...{ name: collectionFormat, in: 'query', type: 'array', items: { type: 'integer' }, collectionFormat },
          })),
        ],
      },
      put: {
        parameters: [
          { name: 'p', in: 'path', required: true, type: 'string' },
          { name: 'pet', in: 'body', required: true, schema: { type: 'object', properties: { name: text } } },
        ],
      },
    },
    '/upload': {
      post: {
        consumes: ['multipart/form-data'],
        parameters: [
          { name: 'file', in: 'formData', type: 'file', required: true },
          { name: 'note', in: 'formData', type: 'string' },
        ],
      },
    },
  },
};

describe('requests', () => {
  spec.thorough('OAS-2 OAS-3', 'are what documents of both generations declare', async () => {
    const recorder = await startRecorder();
    onEnd(recorder.close);
    for (const [document, operations] of [
      [DOCUMENT, 12],
      [SWAGGER, 3],
    ] as const) {
      const { dir: workdir, env, config, write } = createWorkspace();
      config(`[openapi.api]\nserver = "${recorder.address}"\n`);
      write('.agents/tools/api.openapi.json', JSON.stringify(document));
      const toolbox = createNodeToolbox({ workdir, env });
      onEnd(() => toolbox.close());
      const called = await callOperations(toolbox, document, recorder.take, { calls: rounds(3, 40), seed: 7 });
      expect(called).toMatchObject({ operations, unchecked: 0, faults: [], untried: [] });
      expect(called.calls).toBe(operations * rounds(3, 40));
    }
  });

  spec('OAS-3', 'of an optional body need what the body needs', async () => {
    const { dir: workdir, env, config, write } = createWorkspace();
    config('[openapi.api]\nserver = "http://127.0.0.1:9"\n');
    write('.agents/tools/api.openapi.json', JSON.stringify(DOCUMENT));
    const toolbox = createNodeToolbox({ workdir, env });
    onEnd(() => toolbox.close());
    expect((await toolbox.call('put_optional', { b: 'x' })).error).toMatchObject({
      code: 'invalid_input',
      message: 'a is missing, and needed with b',
    });
    expect((await toolbox.call('post_combined', { body: { rows: [{}] } })).error).toMatchObject({
      code: 'invalid_input',
      message: 'rows has an empty object at 0, which cannot be sent',
    });
  });

  spec('OAS-13', 'are not sent without a required value that is null or an empty list', async () => {
    const recorder = await startRecorder();
    onEnd(recorder.close);
    const list = { type: 'array', nullable: true, items: { type: 'string' } };
    const form = { type: 'object', required: ['kinds'], properties: { kinds: list, more: list } };
    const bodies = {
      form: 'application/x-www-form-urlencoded',
      parts: 'multipart/form-data',
      json: 'application/json',
    };
    const paths = Object.entries(bodies).map(([name, type]) => [
      `/${name}`,
      { post: { operationId: name, requestBody: { required: true, content: { [type]: { schema: form } } } } },
    ]);
    const query = (name: string, required: boolean) => ({ name, in: 'query', required, schema: list });
    const find = { get: { operationId: 'find', parameters: [query('kinds', true), query('more', false)] } };
    const document = { openapi: '3.0.0', info: {}, paths: { ...Object.fromEntries(paths), '/find': find } };
    const { dir: workdir, env, config, write } = createWorkspace();
    config(`[openapi.api]\nserver = "${recorder.address}"\n`);
    write('.agents/tools/api.openapi.json', JSON.stringify(document));
    const toolbox = createNodeToolbox({ workdir, env });
    onEnd(() => toolbox.close());
    for (const name of ['find', 'form', 'parts'])
      for (const [kinds, shown] of [
        [null, 'null'],
        [[], 'an empty list'],
      ] as const) {
        expect((await toolbox.call(name, { kinds })).error).toMatchObject({
          code: 'invalid_input',
          message: `kinds is required, and ${shown} cannot be sent`,
        });
        expect(recorder.take()).toBeUndefined();
      }
    await toolbox.call('find', { kinds: ['a'], more: null });
    expect(recorder.take()?.url).toBe('/find?kinds=a');
    await toolbox.call('form', { kinds: ['a'], more: [] });
    expect(String(recorder.take()?.body)).toBe('kinds=a');
    await toolbox.call('json', { kinds: null, more: [] });
    expect(String(recorder.take()?.body)).toBe('{"kinds":null,"more":[]}');
  });
});
