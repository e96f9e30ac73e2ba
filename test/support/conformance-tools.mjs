// The fixtures of the official conformance suite as tools, resources and prompts in one file of ~/.agents/tools.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { definePrompt, defineResource, defineTool } from 'wield';

const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const AUDIO = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// A call that takes longer than two seconds becomes a task.
const AS_TASK_MS = 2500;
const text = (value) => ({ type: 'text', text: value });
const image = { type: 'image', data: IMAGE, mimeType: 'image/png' };
const embedded = (uri, mimeType, value) => ({ type: 'resource', resource: { uri, mimeType, text: value } });
const object = (properties = {}, more = {}) => ({ type: 'object', properties, ...more });
const tool = (name, execute, inputSchema = object(), more = {}) =>
  defineTool({ name, description: `Conformance: ${name}.`, inputSchema, execute, ...more });
const parts = (...content) => ({ content });
const message = (prompt) => ({ messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 });
const answered = ({ action, content }) => parts(text(`action=${action}, content=${JSON.stringify(content ?? {})}`));

const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: {
    type: 'string',
    oneOf: [
      { const: 'value1', title: 'First' },
      { const: 'value2', title: 'Second' },
    ],
  },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: {
    type: 'array',
    items: {
      anyOf: [
        { const: 'value1', title: 'First Choice' },
        { const: 'value2', title: 'Second Choice' },
      ],
    },
  },
};
const OK = object({ ok: { type: 'boolean' } }, { required: ['ok'] });
const CONFIRM = object({ confirm: { type: 'boolean' } });
const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

// Adds a file, or removes it again.
function toggle(name, content) {
  const added = join(homedir(), '.agents/tools', name);
  if (existsSync(added)) rmSync(added);
  else writeFileSync(added, content, { mode: 0o755 });
}
const PROMPT = `import { definePrompt } from 'wield';
export const added = definePrompt({ name: 'test_added_prompt', description: 'Added.', get: () => 'Added.' });
`;

const tools = [
  tool('test_simple_text', () => parts(text('This is a simple text response for testing.'))),
  tool('test_image_content', () => parts(image)),
  tool('test_audio_content', () => parts({ type: 'audio', data: AUDIO, mimeType: 'audio/wav' })),
  tool('test_embedded_resource', () =>
    parts(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  ),
  tool('test_multiple_content_types', () =>
    parts(text('Multiple content types test:'), image, embedded('test://mixed', 'application/json', '{"test":"data"}')),
  ),
  tool('test_tool_with_logging', async (_input, { log }) => {
    for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      log(message);
      await sleep(50);
    }
    return parts(text('done'));
  }),
  tool('test_tool_with_progress', async (_input, { progress }) => {
    for (const done of [0, 50, 100]) {
      progress(done, 100, `Completed step ${done} of 100`);
      await sleep(50);
    }
    return parts(text('done'));
  }),
  tool('test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing');
  }),
  tool(
    'test_elicitation',
    async ({ message }, { elicit }) =>
      answered(await elicit({ message, schema: object({ response: { type: 'string' } }, { required: ['response'] }) })),
    object({ message: { type: 'string' } }, { required: ['message'] }),
  ),
  tool('test_elicitation_sep1034_defaults', async (_input, { elicit }) =>
    answered(await elicit({ message: 'Review the defaults', schema: object(DEFAULTS) })),
  ),
  tool('test_elicitation_sep1330_enums', async (_input, { elicit }) =>
    answered(await elicit({ message: 'Select options', schema: object(ENUMS) })),
  ),
  tool('json_schema_2020_12_tool', () => parts(text('ok')), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
  tool(
    'test_custom_header',
    ({ region }) => parts(text(`region ${region}`)),
    object({ region: { type: 'string', 'x-mcp-header': 'Region' } }, { required: ['region'] }),
  ),
  tool('test_logging_tool', (_input, { log }) => {
    log('Diagnostic message');
    return parts(text('Logging evaluated'));
  }),
  tool('test_streaming_elicitation', async (_input, { elicit, progress }) => {
    progress(50, 100);
    return answered(await elicit({ message: 'Continue?', schema: OK }));
  }),
  // Adds a tool, or removes it again.
  tool('test_trigger_tool_change', () => {
    toggle('test_added.sh', '#!/bin/sh\n# @description Added.\necho added\n');
    return parts(text('changed'));
  }),
  tool('test_trigger_prompt_change', () => {
    toggle('added.tool.mjs', PROMPT);
    return parts(text('changed'));
  }),
  tool('greet', ({ name }) => parts(text(`Hello, ${name}!`)), object({ name: { type: 'string' } })),
  tool(
    'slow_compute',
    async ({ seconds = 0 }) => {
      await sleep(seconds === 0 ? 0 : Math.max(seconds * 1000, AS_TASK_MS));
      return parts(text(`computed for ${seconds} s`));
    },
    object({ seconds: { type: 'number' }, label: { type: 'string' } }),
  ),
  tool(
    'failing_job',
    async () => {
      await sleep(AS_TASK_MS);
      throw new Error('This job always fails');
    },
    object(),
    { taskOnly: true },
  ),
  // A request that its client does not support ends a call with an error of the protocol.
  tool('protocol_error_job', async (_input, { requestClient }) => {
    await sleep(AS_TASK_MS);
    return requestClient('roots');
  }),
  tool(
    'confirm_delete',
    async ({ filename }, { elicit }) => {
      await sleep(AS_TASK_MS);
      const { action } = await elicit({ id: 'confirm', message: `Delete ${filename}?`, schema: CONFIRM });
      return parts(text(action === 'accept' ? `deleted ${filename}` : 'kept'));
    },
    object({ filename: { type: 'string' } }),
  ),
  tool('multi_input', async (_input, { elicit }) => {
    await sleep(AS_TASK_MS);
    const ids = ['first', 'second'];
    const given = await Promise.all(ids.map((id) => elicit({ id, message: `The ${id}?`, schema: CONFIRM })));
    return parts(text(given.map(({ action }) => action).join(' ')));
  }),
  tool('test_tool_with_task', async (_input, { elicit }) => {
    const schema = object({ name: { type: 'string' } }, { required: ['name'] });
    const { content } = await elicit({ id: 'user_name', message: 'What is your name?', schema });
    await sleep(AS_TASK_MS);
    return parts(text(`Hello, ${content?.name}!`));
  }),
  ...['request_state', 'tampered_state'].map((name) =>
    tool(`test_input_required_result_${name}`, async (_input, { elicit }) => {
      const { content } = await elicit({ id: 'confirm', message: 'Please confirm', schema: OK });
      return parts(text(`state-ok: ${content?.ok}`));
    }),
  ),
  tool('test_input_required_result_multi_round', async (_input, { elicit }) => {
    const ask = (id, key, message) =>
      elicit({ id, message, schema: object({ [key]: { type: 'string' } }, { required: [key] }) });
    const first = await ask('step1', 'name', 'Step 1: What is your name?');
    const second = await ask('step2', 'color', 'Step 2: What is your favorite color?');
    return parts(text(`${first.content?.name} likes ${second.content?.color}`));
  }),
  tool(
    'test_sampling',
    async ({ prompt }, { requestClient }) => {
      const { content } = await requestClient('sampling', message(prompt));
      return parts(text(`LLM response: ${content.text}`));
    },
    object({ prompt: { type: 'string' } }, { required: ['prompt'] }),
  ),
  tool('test_missing_capability', async (_input, { requestClient }) => {
    await requestClient('sampling', message('Anything'));
    return parts(text('sampled'));
  }),
  tool('test_input_required_result_sampling', async (_input, { requestClient }) => {
    const { content } = await requestClient('sampling', message('What is the capital of France?'));
    return parts(text(`Sampling result: ${content.text}`));
  }),
  tool('test_input_required_result_list_roots', async (_input, { requestClient }) => {
    const { roots } = await requestClient('roots');
    return parts(text(`Found ${roots.length} root(s)`));
  }),
  tool('test_input_required_result_multiple_inputs', async (_input, { elicit, requestClient }) => {
    const schema = object({ name: { type: 'string' } }, { required: ['name'] });
    const [{ content }, greeting, { roots }] = await Promise.all([
      elicit({ id: 'user_name', message: 'What is your name?', schema }),
      requestClient('sampling', message('Generate a greeting')),
      requestClient('roots'),
    ]);
    return parts(text(`Name: ${content?.name}; Greeting: ${greeting.content.text}; Roots: ${roots.length}`));
  }),
  tool('test_input_required_result_capabilities', async (_input, { elicit, requestClient }) => {
    const asked = [elicit({ message: 'Elicitation input', schema: OK }), requestClient('sampling', message('Sample'))];
    const answers = await Promise.allSettled(asked);
    return parts(text(`capabilities-ok: ${answers.filter(({ status }) => status === 'fulfilled').length}`));
  }),
  tool('test_input_required_result_elicitation', async (_input, { elicit }) => {
    const schema = object({ name: { type: 'string' } }, { required: ['name'] });
    const { content } = await elicit({ id: 'user_name', message: 'What is your name?', schema });
    return parts(text(`Hello, ${content?.name}!`));
  }),
];

const staticText = { uri: 'test://static-text', name: 'static-text', description: 'Text.', mimeType: 'text/plain' };
const resources = [
  defineResource({ ...staticText, read: () => 'This is the content of the static text resource.' }),
  defineResource({ ...staticText, uri: 'test://watched-resource', name: 'watched-resource', read: () => 'Watched.' }),
  defineResource({
    uri: 'test://static-binary',
    name: 'static-binary',
    mimeType: 'image/png',
    read: () => Buffer.from(IMAGE, 'base64'),
  }),
  defineResource({
    uri: 'test://template/{id}/data',
    name: 'template',
    mimeType: 'application/json',
    read: (uri) => {
      const id = uri.split('/')[3];
      return JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    },
  }),
];
const prompts = [
  definePrompt({
    name: 'test_simple_prompt',
    description: 'Simple.',
    get: () => 'This is a simple prompt for testing.',
  }),
  definePrompt({
    name: 'test_prompt_with_arguments',
    description: 'With arguments.',
    arguments: [
      { name: 'arg1', required: true },
      { name: 'arg2', required: true },
    ],
    complete: (_argument, value) => ['paris', 'park', 'party'].filter((word) => word.startsWith(value)),
    get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  }),
  definePrompt({
    name: 'test_prompt_with_embedded_resource',
    description: 'With a resource.',
    arguments: [{ name: 'resourceUri', required: true }],
    get: ({ resourceUri }) => [
      { role: 'user', content: embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.') },
      { role: 'user', content: text('Please process the embedded resource above.') },
    ],
  }),
  definePrompt({
    name: 'test_input_required_result_prompt',
    description: 'Asks for its context.',
    get: async (_input, { elicit }) => {
      const schema = object({ context: { type: 'string' } }, { required: ['context'] });
      const { content } = await elicit({ id: 'user_context', message: 'What context should the prompt use?', schema });
      return `Context: ${content?.context}`;
    },
  }),
  definePrompt({
    name: 'test_prompt_with_image',
    description: 'With an image.',
    get: () => [
      { role: 'user', content: image },
      { role: 'user', content: text('Please analyze the image above.') },
    ],
  }),
];

// A file exports each definition by a name of its own.
export const [
  tool1,
  tool2,
  tool3,
  tool4,
  tool5,
  tool6,
  tool7,
  tool8,
  tool9,
  tool10,
  tool11,
  tool12,
  tool13,
  tool14,
  tool15,
  tool16,
  tool17,
  tool18,
  tool19,
  tool20,
  tool21,
  tool22,
  tool23,
  tool24,
  tool25,
  tool26,
  tool27,
  tool28,
  tool29,
  tool30,
  tool31,
  tool32,
  tool33,
  tool34,
] = tools;
export const [resource1, resource2, resource3, resource4] = resources;
export const [prompt1, prompt2, prompt3, prompt4, prompt5] = prompts;
