// An MCP server for one protocol version only, `older` or `newer`, or over stdio for `both`, where `ask` needs the older and
// `rounds` the newer one; over stdio or, with a port, HTTP. Each start appends a line
// to the file of the second argument; other events go to a file beside it.

import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  isInitializeRequest,
  ProtocolError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

const [, , wanted, starts, port] = process.argv;
// A server that changes its protocol version reads it from a file.
const protocol = wanted.startsWith('/') ? readFileSync(wanted, 'utf8').trim() : wanted;
const isNewer = protocol === 'newer';
const isBoth = protocol === 'both';
appendFileSync(starts, `${process.pid}\n`);
const log = (line) => appendFileSync(`${starts}.log`, `${line}\n`);

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const object = (properties = {}, more = {}) => ({ type: 'object', properties, ...more });
const colour = (message) => ({
  message,
  requestedSchema: object({ colour: { type: 'string' } }, { required: ['colour'] }),
});

const TOOLS = {
  echo: {
    title: 'Echo',
    input: object({ text: { type: 'string', minLength: 1 } }, { required: ['text'] }),
    annotations: { readOnlyHint: true, openWorldHint: false },
    run: ({ text: said }) => text(said),
  },
  steps: {
    input: object(),
    async run(_input, { mcpReq }) {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 3, message: `step ${progress}` },
        });
        // Clients of the SDK ignore progress that arrives with the response.
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      return text('done');
    },
  },
  slow: {
    input: object({ name: { type: 'string' } }),
    async run({ name }, { mcpReq }) {
      log(`began ${name}`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, 30_000);
        mcpReq.signal.addEventListener('abort', () => {
          log(`cancelled ${name}`);
          clearTimeout(timer);
          resolve();
        });
      });
      return text('done');
    },
  },
  typed: {
    input: object(),
    output: object({ count: { type: 'integer' } }, { required: ['count'] }),
    run: () => ({ ...text('{"count":3}'), structuredContent: { count: 3 } }),
  },
  parts: {
    input: object(),
    run: () => ({
      content: [
        { type: 'text', text: 'words', annotations: { audience: ['user'], priority: 0.5 } },
        { type: 'image', data: 'aGk=', mimeType: 'image/png', _meta: { 'example.com/width': 3 } },
        { type: 'audio', data: 'aGk=', mimeType: 'audio/wav', annotations: { audience: ['assistant'] } },
        {
          type: 'resource_link',
          uri: 'demo://one',
          name: 'one',
          title: 'One',
          description: 'The first.',
          mimeType: 'text/plain',
          size: 3,
        },
        { type: 'resource', resource: { uri: 'demo://two', mimeType: 'text/plain', text: 'two' } },
        { type: 'resource', resource: { uri: 'demo://three', blob: 'aGk=' } },
      ],
      structuredContent: { loose: true },
      _meta: { 'example.com/note': 'kept' },
    }),
  },
  fails: {
    input: object(),
    run: () => ({
      content: [
        { type: 'text', text: 'it did not work' },
        { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      ],
      isError: true,
    }),
  },
  refuses: {
    input: object(),
    run: () => {
      throw new ProtocolError(-32602, 'not like this');
    },
  },
  ask: {
    input: object(),
    run: (_input, context) => asking(context, { colour: colour('Which colour?') }, (answers) => answers.colour),
  },
  page: {
    input: object(),
    run: (_input, context) =>
      asking(
        context,
        { page: { message: 'Please log in.', url: 'https://example.com/login' } },
        (answers) => answers.page,
      ),
  },
  two: {
    input: object(),
    run: (_input, context) =>
      asking(context, { one: colour('The first colour?'), other: colour('The second colour?') }, (answers) => [
        answers.one,
        answers.other,
      ]),
  },
  rounds: {
    input: object(),
    async run(_input, context) {
      if (!isNewer && !isBoth) {
        const answers = [];
        for (const round of [1, 2, 3]) answers.push(await askOlder(context, colour(`Colour ${round}?`)));
        return text(JSON.stringify(answers));
      }
      const { inputResponses } = context.mcpReq;
      const before = JSON.parse(context.mcpReq.requestState() ?? '[]');
      const given = inputResponse(inputResponses, 'colour');
      const answers = given.kind === 'missing' ? before : [...before, toAnswer(given)];
      if (answers.length === 3) return text(JSON.stringify(answers));
      return inputRequired({
        inputRequests: { colour: inputRequired.elicit(colour(`Colour ${answers.length + 1}?`)) },
        requestState: JSON.stringify(answers),
      });
    },
  },
  sample: {
    input: object({ times: { type: 'integer' } }),
    run: ({ times = 1 }, context) => {
      const requests = Array.from({ length: times }, (_, at) => [`sample${at}`, { sampling: `Say ${at}.` }]);
      return asking(context, Object.fromEntries(requests), (answers) => answers);
    },
  },
  roots: {
    input: object(),
    run: (_input, context) => asking(context, { roots: { roots: true } }, ({ roots }) => roots),
  },
  everything: {
    input: object(),
    run: (_input, context) =>
      asking(
        context,
        { colour: colour('Which colour?'), sample: { sampling: 'Say it.' }, roots: { roots: true } },
        (answers) => answers,
      ),
  },
  say: {
    input: object({ text: { type: 'string' } }),
    async run({ text: data }, { mcpReq }) {
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
      return text('said');
    },
  },
  count: {
    input: object(),
    run: () => {
      log('counted');
      return text('counted');
    },
  },
  large: {
    input: object({ size: { type: 'integer' } }),
    run: ({ size }) => text('0123456789'.repeat(size / 10)),
  },
  region: {
    input: object({ region: { type: 'string', 'x-mcp-header': 'Region' }, note: { type: 'string' } }),
    run: ({ region, note }, context) => {
      if (region === 'nowhere') throw new ProtocolError(-32602, 'there is no such region');
      if (region === 'which') return asking(context, { colour: colour('Which colour?') }, (answers) => answers.colour);
      return text(`${region} ${note}`);
    },
  },
  grow: {
    input: object(),
    run: () => {
      TOOLS.grown = { input: object(), run: () => text('grown') };
      delete TOOLS.count;
      tellChanged();
      return text('grown');
    },
  },
  meta: {
    input: object(),
    run: (_input, { mcpReq }) => text(JSON.stringify(mcpReq._meta ?? {})),
  },
  touch: {
    input: object({ uri: { type: 'string' } }),
    run: ({ uri }) => {
      tellUpdated(uri);
      return text('touched');
    },
  },
  ...(isNewer
    ? {
        numbers: {
          input: object(),
          output: { type: 'array', items: { type: 'integer' } },
          run: () => ({ ...text('[1,2]'), structuredContent: [1, 2] }),
        },
      }
    : {}),
};

async function asking(context, questions, toResult) {
  const answers = {};
  if (!isNewer) {
    for (const [key, question] of Object.entries(questions)) answers[key] = await askOlder(context, question);
    return text(JSON.stringify(toResult(answers)));
  }
  for (const key of Object.keys(questions)) {
    const given = inputResponse(context.mcpReq.inputResponses, key);
    if (given.kind === 'missing') {
      const requests = Object.entries(questions).map(([name, question]) => [name, toInput(question)]);
      return inputRequired({ inputRequests: Object.fromEntries(requests) });
    }
    answers[key] = isClientRequest(questions[key]) ? context.mcpReq.inputResponses[key] : toAnswer(given);
  }
  return text(JSON.stringify(toResult(answers)));
}

const isClientRequest = ({ sampling, roots }) => sampling !== undefined || roots === true;
const toMessage = ({ sampling }) => ({
  messages: [{ role: 'user', content: { type: 'text', text: `${sampling} ${process.env.SECRET ?? ''}`.trim() } }],
  maxTokens: 10,
  // Not its name.
  _meta: { 'wield/server': 'another' },
});

function toInput(question) {
  if (question.roots === true) return inputRequired.listRoots();
  if (question.sampling !== undefined) return inputRequired.createMessage(toMessage(question));
  return question.url === undefined ? inputRequired.elicit(question) : inputRequired.elicitUrl(question);
}

function toAnswer({ action, content }) {
  return { action, ...(content === undefined ? {} : { content }) };
}

async function askOlder({ mcpReq }, question) {
  if (question.roots === true) return mcpReq.send({ method: 'roots/list' });
  if (question.sampling !== undefined)
    return mcpReq.send({ method: 'sampling/createMessage', params: toMessage(question) });
  const mode = question.url === undefined ? { mode: 'form' } : { mode: 'url', elicitationId: randomUUID() };
  return toAnswer(await mcpReq.send({ method: 'elicitation/create', params: { ...mode, ...question } }));
}

const connected = new Set();
let handler;
function tellChanged() {
  for (const server of connected) server.sendToolListChanged().catch(() => {});
  handler?.notify.toolsChanged();
}

const subscribed = new Map();
function tellUpdated(uri) {
  for (const server of connected)
    if (isNewer || subscribed.get(server)?.has(uri)) server.sendResourceUpdated({ uri }).catch(() => {});
  handler?.notify.resourceUpdated(uri);
}

function registerResources(server) {
  const uris = new Set();
  subscribed.set(server, uris);
  server.setRequestHandler('resources/list', () => ({
    resources: ['one', 'two'].map((name) => ({ uri: `note://${name}`, name })),
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => ({ contents: [{ uri, text: `at ${uri}` }] }));
  if (isNewer) return;
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    log(`subscribe ${uri}`);
    uris.add(uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    log(`unsubscribe ${uri}`);
    uris.delete(uri);
    return {};
  });
}

function createServer() {
  const server = new Server(
    { name: 'protocol', version: '1' },
    {
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
      instructions: 'Ask nicely.',
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(TOOLS).map(([name, { title, input, output, annotations }]) => ({
      name,
      ...(title === undefined ? {} : { title }),
      description: `About ${name}.`,
      inputSchema: input,
      ...(output === undefined ? {} : { outputSchema: output }),
      ...(annotations === undefined ? {} : { annotations }),
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    log(`call ${params.name}`);
    return TOOLS[params.name].run(params.arguments ?? {}, context);
  });
  registerResources(server);
  connected.add(server);
  return server;
}

if (port === undefined) {
  if (isNewer || isBoth) serveStdio(createServer, isBoth ? {} : { legacy: 'reject' });
  else void createServer().connect(new StdioServerTransport());
  process.stdin.on('data', (chunk) => {
    for (const [, method] of String(chunk).matchAll(/"method":"([^"]+)"/g)) log(`heard ${method}`);
  });
  process.stdin.on('end', () => process.exit(0));
} else {
  const sessions = new Map();
  handler = isNewer
    ? createMcpHandler(
        () => {
          const server = createServer();
          connected.delete(server);
          return server;
        },
        { legacy: 'reject' },
      )
    : undefined;
  const fetch = async (request) => {
    const headers = ['mcp-method', 'mcp-name', 'mcp-param-region', 'mcp-session-id'];
    const told = headers.map((name) => request.headers.get(name) ?? '-').join(' ');
    log(`${request.method} ${told}`);
    if (isNewer) return handler.fetch(request);
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const known = sessions.get(id);
      if (known === undefined)
        return Response.json(
          { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } },
          { status: 404 },
        );
      return known.handleRequest(request);
    }
    const body = await request.json();
    if (!isInitializeRequest(body))
      return Response.json(
        { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no session' } },
        { status: 400 },
      );
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => sessions.set(session, transport),
    });
    await createServer().connect(transport);
    return transport.handleRequest(request, { parsedBody: body });
  };
  serve({ fetch, hostname: '127.0.0.1', port: Number(port) }, ({ port: bound }) =>
    process.stdout.write(`http://127.0.0.1:${bound}/mcp\n`),
  );
}
