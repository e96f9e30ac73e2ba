// A stdio server with tools, resources, templates, prompts, skills and completions, read from a file that may change:
// its second argument. The first one is the file of its starts.

import { appendFileSync, readFileSync, watchFile } from 'node:fs';

const [, , starts, file] = process.argv;
appendFileSync(starts, `${process.pid}\n`);
const offers = () => JSON.parse(readFileSync(file, 'utf8'));
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const log = (line) => appendFileSync(`${starts}.log`, `${line}\n`);

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: {
      tools: {},
      resources: { listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
      ...(offers().skills === undefined ? {} : { extensions: { 'io.modelcontextprotocol/skills': {} } }),
    },
    serverInfo: { name: 'offers', version: '1' },
    instructions: offers().instructions,
  }),
  'tools/list': () => ({ tools: offers().tools ?? [] }),
  'resources/list': () => ({ resources: offers().resources ?? [] }),
  'resources/templates/list': () => ({ resourceTemplates: offers().templates ?? [] }),
  'skills/list': () => ({ skills: offers().skills }),
  'prompts/list': () => ({ prompts: offers().prompts ?? [] }),
  'tools/call': ({ name }) => {
    write({ method: 'notifications/message', params: { level: 'info', data: `called ${name}`, logger: 'own' } });
    const { result, logs = 0 } = offers();
    const logged = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info', data: 1 },
    });
    process.stdout.write(`${logged}\n`.repeat(logs));
    if (result !== undefined) return result;
    return {
      content: [
        { type: 'resource_link', uri: 'notes://linked', name: 'linked' },
        { type: 'resource', resource: { uri: 'notes://embedded', text: 'embedded' } },
      ],
      _meta: { ui: { resourceUri: 'ui://app/page.html' } },
    };
  },
  'resources/read': ({ uri }) => {
    log(`read ${uri}`);
    if (uri.includes('missing')) throw { code: -32002, message: 'no such note' };
    const own = offers().contents?.[uri];
    if (own !== undefined) return { contents: [{ uri, mimeType: 'text/html;profile=mcp-app', text: own }] };
    const listed = (offers().resources ?? []).find((one) => one.uri === uri);
    if (listed?.mimeType?.startsWith('text/html') && offers().prompts === undefined)
      return { contents: [{ uri, mimeType: listed.mimeType, text: `<p>${uri}</p>` }] };
    return { contents: [{ uri, mimeType: 'text/plain', text: `content of ${uri}` }] };
  },
  'prompts/get': ({ name, arguments: given }) => ({
    description: name,
    messages: [
      { role: 'user', content: { type: 'text', text: JSON.stringify(given) } },
      { role: 'user', content: { type: 'resource', resource: { uri: 'notes://in-prompt', text: 'x' } } },
    ],
  }),
  'completion/complete': ({ ref, argument, context }) => {
    const given = context === undefined ? [] : [JSON.stringify(context.arguments)];
    const value = [ref.name ?? ref.uri, argument.name, argument.value, ...given].join(' ');
    return { completion: { values: [value], total: 1, hasMore: false } };
  },
};

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('end', () => process.exit(0));
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const { id, method, params } of lines.filter(Boolean).map((line) => JSON.parse(line))) {
    if (id === undefined) continue;
    try {
      if (METHODS[method] === undefined) throw { code: -32601, message: `unknown method ${method}` };
      write({ id, result: METHODS[method](params ?? {}) });
    } catch (error) {
      write({ id, error });
    }
  }
});
watchFile(file, { interval: 50 }, () => {
  for (const kind of ['resources', 'prompts']) write({ method: `notifications/${kind}/list_changed` });
});
