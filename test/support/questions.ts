// Tools that ask questions during a call, and count how often they started.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ElicitResult } from '@modelcontextprotocol/client';
import type { ToolDefinition } from '../../src/formats/module/define.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from './modules.js';
import type { Message } from './server.js';

/** A form with every kind of field. */
export const FORM = {
  type: 'object',
  properties: {
    size: {
      type: 'string',
      title: 'Size',
      oneOf: [
        { const: 's', title: 'small' },
        { const: 'l', title: 'large' },
      ],
      default: 's',
    },
    pieces: { type: 'integer', title: 'Pieces', minimum: 1, maximum: 9 },
    gift: { type: 'boolean', title: 'As a gift' },
    extras: { type: 'array', title: 'Extras', items: { type: 'string', enum: ['ribbon', 'card'] } },
    note: { type: 'string', title: 'Note', description: 'For the parcel.' },
  },
  required: ['size', 'pieces', 'gift'],
} as const;

/** A valid answer to the form. */
export const FILLED = { size: 'l', pieces: 3, gift: true, extras: ['card'] };

export interface QuestionWorkspace extends ModuleWorkspace {
  /** Names of the tools that started, in order. */
  begun(): string[];
}

const BEGIN = `import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
const begin = ({ workdir }, name) => appendFileSync(join(workdir, 'begun'), name + '\\n');
`;

/** A module with tools: `name` asks for a line, `order` for the form, `both` for one after the other. */
export function createQuestionWorkspace(): QuestionWorkspace {
  const workspace = createModuleWorkspace();
  const tools: string[] = [];
  const add = (name: string, body: string): void => {
    const execute = `async (input, context) => { begin(context, '${name}'); ${body} }`;
    tools.push(moduleText(name, execute).replace('const tool =', `const ${name}Tool =`));
  };
  const form = JSON.stringify(FORM);
  add('name', `return 'heard ' + (await context.ask('Whose name' + (input.what ?? '') + '?'));`);
  add('order', `return context.elicit({ message: 'What shall it be?', schema: ${form} });`);
  add(
    'both',
    `const who = await context.ask('For whom?');
     return { who, order: await context.elicit({ message: 'What shall it be?', schema: ${form} }) };`,
  );
  add('several', `return Promise.all(['one', 'two', 'three'].map((which) => context.ask('Which is ' + which + '?')));`);
  add('page', `return context.elicit({ message: 'Sign in.', url: 'https://example.org/in?a=1', id: 'e1' });`);
  add('outer', `return (await context.toolbox.call('name', {})).content[0].text;`);
  workspace.module('questions.tool.mjs', BEGIN + tools.join('\n'));
  return {
    ...workspace,
    begun: () => {
      try {
        return readFileSync(join(workspace.dir, 'begun'), 'utf8').split('\n').filter(Boolean);
      } catch {
        return [];
      }
    },
  };
}

/** The tools `name` and `order` as functions. */
export const TYPED: readonly ToolDefinition[] = [
  {
    name: 'name',
    description: 'Asks.',
    inputSchema: { type: 'object', properties: {} },
    execute: async (_input, { ask }) => `heard ${await ask('Whose name?')}`,
  },
  {
    name: 'order',
    description: 'Asks with a form.',
    inputSchema: { type: 'object', properties: {} },
    execute: async (_input, { elicit }) => elicit({ message: 'What shall it be?', schema: FORM as never }),
  },
];

export const call = (name: string, input: object = {}) => ({
  name,
  arguments: input as Record<string, unknown>,
});
export const textOf = (result: Message): string => result.content[0].text;
export const codeOf = (result: Message): string => result._meta['wield/error'].code;
/** Answers a form with one text field. */
export const say = (answer: string): ElicitResult => ({ action: 'accept', content: { answer } });
