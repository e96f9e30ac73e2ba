// Compares public MCP servers behind wield with a direct client, field by field, shows their apps in Chromium, and writes
// docs/reports/public-servers.md.
// Packages are installed without their scripts into WIELD_SERVERS_CACHE (`~/.cache/wield-servers`). Arguments choose packages.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { driveApp } from './public-apps.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CACHE = process.env.WIELD_SERVERS_CACHE ?? join(homedir(), '.cache', 'wield-servers');
const SERVERS = JSON.parse(readFileSync(new URL('public-servers.json', import.meta.url), 'utf8'));
const TIMEOUT = { timeout: 90_000 };
// Reasons for differences, by the field that differs.
const REASONS = {
  tool: 'only for apps, so not offered to models',
  template: 'also a resource with the same URI',
  description: 'cut at 16 KiB, or without invisible characters',
  '_meta.ui.resourceUri': 'rewritten, so that it can be read through wield',
  '_meta.ui/resourceUri': 'likewise, in an older spelling',
  'execution.taskSupport': '`required` is `optional` here, since wield waits for tasks itself',
  instructions: 'cut at 4,000 characters',
};

function npmProgram(name) {
  const directory = join(CACHE, 'npm', name.replace('/', '+'));
  if (!existsSync(join(directory, 'node_modules'))) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'package.json'), '{"private":true}\n');
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts'];
    execFileSync('npm', ['install', ...flags, name], { cwd: directory, stdio: 'ignore', timeout: 300_000 });
  }
  const { bin, version } = JSON.parse(readFileSync(join(directory, 'node_modules', name, 'package.json'), 'utf8'));
  const file = typeof bin === 'string' ? bin : (bin[name.split('/').at(-1)] ?? Object.values(bin)[0]);
  return { version, command: process.execPath, args: [join(directory, 'node_modules', name, file)] };
}

function pypiProgram(name) {
  const python = join(CACHE, 'py');
  if (!existsSync(python)) execFileSync('python3', ['-m', 'venv', python]);
  const command = join(python, 'bin', name);
  if (!existsSync(command)) execFileSync(join(python, 'bin/pip'), ['install', '-q', name], { stdio: 'ignore' });
  const shown = String(execFileSync(join(python, 'bin/pip'), ['show', name], { stdio: ['ignore', 'pipe', 'ignore'] }));
  return { version: /^Version: (.*)$/m.exec(shown)?.[1], command, args: [] };
}

// What a client sees of a server.
async function survey(transport, names = (name) => name) {
  const client = new Client({ name: 'compare', version: '1' });
  await client.connect(transport, TIMEOUT);
  const capabilities = client.getServerCapabilities() ?? {};
  const list = async (method, field) => {
    const found = [];
    let cursor;
    do {
      const page = await client.request({ method, params: cursor === undefined ? {} : { cursor } }, TIMEOUT);
      found.push(...page[field]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  };
  const offers = {
    tool: capabilities.tools === undefined ? [] : await list('tools/list', 'tools'),
    resource: capabilities.resources === undefined ? [] : await list('resources/list', 'resources'),
    template: capabilities.resources === undefined ? [] : await list('resources/templates/list', 'resourceTemplates'),
    prompt: capabilities.prompts === undefined ? [] : await list('prompts/list', 'prompts'),
  };
  // An error of the protocol is compared like a result.
  const call = async (name, input) => {
    try {
      const { isError = false, ...result } = await client.callTool({ name: names(name), arguments: input }, TIMEOUT);
      return { ...result, isError };
    } catch ({ code, message, data }) {
      return { content: { code, message: message.replaceAll(names(name), name), data }, isError: true };
    }
  };
  return { client, offers, call, instructions: client.getInstructions() ?? '' };
}

// Paths of the leaves that differ between two JSON values; arrays are compared whole.
function differences(direct, through, path = '') {
  if (isDeepStrictEqual(direct, through)) return [];
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(direct) || !isObject(through)) return [path];
  const keys = new Set([...Object.keys(direct), ...Object.keys(through)]);
  return [...keys].flatMap((key) => differences(direct[key], through[key], path === '' ? key : `${path}.${key}`));
}

const KEYS = { tool: 'name', resource: 'uri', template: 'uriTemplate', prompt: 'name' };
const toThrough = {
  tool: (name) => `it_${name}`,
  prompt: (name) => `it_${name}`,
  resource: (uri) => (uri.startsWith('ui://') ? `ui://it/${uri.slice(5)}` : `mcp://it/${uri}`),
  template: (uri) => `mcp://it/${uri}`,
};

// wield adds the name of the server to `_meta`.
function withoutOrigin({ _meta, ...offer }) {
  const { 'wield/server': _, ...rest } = _meta ?? {};
  return Object.keys(rest).length === 0 ? offer : { ...offer, _meta: rest };
}

function compare(direct, through) {
  const found = new Map();
  const add = (path) => found.set(path, (found.get(path) ?? 0) + 1);
  for (const [kind, key] of Object.entries(KEYS))
    for (const offer of direct.offers[kind]) {
      const other = through.offers[kind].find((given) => given[key] === toThrough[kind](offer[key]));
      if (other === undefined) add(kind);
      else for (const path of differences(offer, withoutOrigin({ ...other, [key]: offer[key] }))) add(path);
    }
  if (!through.instructions.includes(direct.instructions.trim())) add('instructions');
  return found;
}

async function examine(entry) {
  const name = entry.npm ?? entry.pypi;
  const program = entry.npm === undefined ? pypiProgram(name) : npmProgram(name);
  const direct = { command: program.command, args: [...program.args, ...(entry.args ?? [])] };
  const delayed = {
    command: 'sh',
    args: ['-c', `sleep ${entry.delay}; exec "$0" "$@"`, direct.command, ...direct.args],
  };
  const home = mkdtempSync(join(tmpdir(), 'wield-servers-'));
  const cwd = join(home, 'work');
  mkdirSync(join(home, '.agents'));
  mkdirSync(cwd);
  const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };
  const server = { ...(entry.delay === undefined ? direct : delayed), cwd };
  writeFileSync(join(home, '.agents/mcp.json'), JSON.stringify({ mcpServers: { it: server } }));
  // Destructive tools are called too: approvals are not compared.
  mkdirSync(env.WIELD_HOME);
  writeFileSync(join(env.WIELD_HOME, 'config.toml'), '[trust]\nrules = ["it_*($policy=allow)"]\n');
  const sides = [];
  try {
    sides.push(await survey(new StdioClientTransport({ ...direct, cwd, env, stderr: 'ignore' })));
    const wield = join(ROOT, 'dist/cli/wield.cjs');
    execFileSync(process.execPath, [wield, 'mcp', 'refresh', 'it'], { cwd, env, stdio: 'ignore' });
    const serve = { command: process.execPath, args: [wield, 'serve', '--mode', 'all'], cwd, env, stderr: 'ignore' };
    sides.push(await survey(new StdioClientTransport(serve), toThrough.tool));
    const [alone, through] = sides;
    const found = compare(alone, through);
    const calls = { results: 0, failures: 0 };
    const compareCall = async (field, name, input) => {
      const [expected, given] = [await alone.call(name, input), await through.call(name, input)];
      calls[expected.isError ? 'failures' : 'results']++;
      for (const member of ['content', 'isError', 'structuredContent'])
        if (!isDeepStrictEqual(expected[member], given[member])) {
          found.set(`${field}.${member}`, (found.get(`${field}.${member}`) ?? 0) + 1);
          const [one, other] = [expected, given].map((result) => JSON.stringify(result[member])?.slice(0, 1000));
          console.log(`  ${name} ${member}\n    direct  ${one}\n    through ${other}`);
        }
    };
    if (entry.call !== undefined) await compareCall('result', ...entry.call);
    // Calls that fail: values that no tool accepts, for the first few tools that need some.
    const failing = alone.offers.tool.filter(isForModels).filter(isStrict).slice(0, MAX_FAILING);
    for (const { name, inputSchema } of failing) await compareCall('failure', name, toFailing(inputSchema));
    if (entry.app !== undefined) await driveApp(new StdioClientTransport(serve), entry.app);
    const hasApp = entry.app !== undefined;
    return { name, version: program.version, delay: entry.delay, offers: count(alone.offers), calls, found, hasApp };
  } finally {
    for (const { client } of sides) await client.close().catch(() => {});
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

const MAX_FAILING = 3;
// wield rejects input that does not match the schema before the server sees it: only texts can be wrong and pass.
const isText = (schema) =>
  schema?.type === 'string' && !('enum' in schema || 'pattern' in schema || 'format' in schema);
const isForModels = ({ _meta }) => _meta?.ui?.visibility?.includes('model') ?? true;
// A tool that needs a task can only be called through wield.
const isStrict = ({ execution, inputSchema: { required = [], properties = {} } }) =>
  execution?.taskSupport !== 'required' &&
  required.length > 0 &&
  required.every((name) => isText(properties[name]) && !(properties[name].maxLength < 30));
const toFailing = ({ required }) => Object.fromEntries(required.map((name) => [name, 'no such thing: /nowhere/<>']));

const count = (offers) => Object.fromEntries(Object.entries(offers).map(([kind, list]) => [kind, list.length]));
const toLabel = ({ name, version, delay }) =>
  `${name} ${version}${delay === undefined ? '' : ` (starts after ${delay} s)`}`;
const toDifferences = ({ found }) => [...found].map(([path, times]) => `\`${path}\` ${times}`).join(', ');

function toPage(results, failed) {
  const paths = new Set(results.flatMap(({ found }) => [...found.keys()]));
  const reasons = [...paths].map((path) => `| \`${path}\` | ${REASONS[path] ?? 'a defect'} |`);
  const sum = (kind) => results.reduce((total, { offers }) => total + offers[kind], 0);
  const [same, other] = [
    results.filter(({ found }) => found.size === 0),
    results.filter(({ found }) => found.size > 0),
  ];
  const apps = results.filter(({ hasApp }) => hasApp);
  const called = (outcome) => results.reduce((total, { calls }) => total + calls[outcome], 0);
  return [
    '# Public servers',
    '',
    `${new Set(results.map(({ name }) => name)).size} public servers behind wield, compared field by field with a direct client`,
    `by \`npm run public-servers\`: ${sum('tool')} tools, ${sum('resource')} resources, ${sum('template')} templates,`,
    `${sum('prompt')} prompts, instructions, ${called('results')} repeatable results and ${called('failures')} failing calls. Names, URIs and \`_meta\``,
    'carry the name of the server.',
    '',
    '| server | fields that differ |',
    '|---|---|',
    ...other.map((result) => `| ${toLabel(result)} | ${toDifferences(result)} |`),
    '',
    '| field | reason |',
    '|---|---|',
    ...reasons,
    '',
    `Without differences: ${same.map(toLabel).join(', ')}.`,
    '',
    ...failed.flatMap((reason) => [`Not compared: ${reason}`, '']),
    `Apps that show the results of their tools in Chromium, through wield: ${apps.map(toLabel).join(', ')}.`,
    '',
  ].join('\n');
}

const chosen = process.argv.slice(2);
const results = [];
const failed = [];
for (const entry of SERVERS) {
  const name = entry.npm ?? entry.pypi;
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  try {
    const result = await examine(entry);
    results.push(result);
    console.log(toLabel(result), JSON.stringify(result.offers), toDifferences(result));
  } catch (error) {
    failed.push(`${name}: ${error.message.split('\n', 1)[0]}`);
    console.log(`${name}: not compared: ${error.message}`);
  }
}
if (chosen.length === 0) writeFileSync(join(ROOT, 'docs/reports/public-servers.md'), toPage(results, failed));
