// Drives wield as a client of the server of a conformance scenario: lists, calls every tool, reads every resource, gets every
// prompt. Where wield asks for a login, it runs the suggested command and follows the login page like a browser.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createNodeToolbox } from '../../dist/node.js';

const WIELD = fileURLToPath(new URL('../../dist/cli/wield.cjs', import.meta.url));
const CLIENT_METADATA = 'https://conformance-test.local/client-metadata.json';
const MAX_LOGINS = 3;
const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

const root = mkdtempSync(join(tmpdir(), 'wield-conformance-client-'));
const home = join(root, 'home');
const workdir = join(root, 'work');
const env = { PATH: process.env.PATH, HOME: home, WIELD_HOME: join(home, '.wield') };
mkdirSync(join(home, '.agents'), { recursive: true });
mkdirSync(workdir);
const entry = toEntry();
if (entry.oauth?.grant !== undefined) entry.oauth.issuer = await findIssuer();
writeFileSync(join(home, '.agents/mcp.json'), JSON.stringify({ mcpServers: { suite: entry } }));

function toEntry() {
  const { client_id: clientId, client_secret: clientSecret } = context;
  if (scenario === 'auth/client-credentials-basic')
    return { url, oauth: { grant: 'client_credentials', clientId, clientSecret } };
  if (scenario === 'auth/client-credentials-jwt')
    return {
      url,
      oauth: { grant: 'client_credentials', clientId, privateKey: toFile('key.pem', context.private_key_pem) },
    };
  if (scenario === 'auth/wif-jwt-bearer')
    return { url, oauth: { grant: 'jwt_bearer', clientId, assertion: toFile('identity', context.valid_jwt) } };
  if (context.idp_id_token !== undefined) {
    const idp = { issuer: context.idp_issuer, clientId: context.idp_client_id, subject: 'id_token' };
    return { url, oauth: { grant: 'id_jag', clientId, clientSecret: toFile('secret', clientSecret), idp } };
  }
  if (clientId !== undefined) return { url, oauth: { clientId, clientSecret } };
  return scenario === 'auth/basic-cimd' ? { url, oauth: { clientId: CLIENT_METADATA } } : { url };
}

function toFile(name, text) {
  writeFileSync(join(home, name), text, { mode: 0o600 });
  return `file:~/${name}`;
}

// The suite does not name the login server, which a person who writes the entry knows.
async function findIssuer() {
  const { origin, pathname } = new URL(url);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  return (await response.json()).authorization_servers[0];
}

// Runs `wield mcp login …` and opens the printed URL, which redirects to wield.
function login(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [WIELD, ...args, '--no-browser'], { cwd: workdir, env });
    let text = '';
    let isOpened = false;
    child.stdout.on('data', (data) => process.stdout.write(data));
    child.stderr.on('data', (data) => {
      process.stderr.write(data);
      text += data;
      const [page] = /https?:\/\/\S+(?=\n)/.exec(text) ?? [];
      if (page === undefined || isOpened) return;
      isOpened = true;
      fetch(page).then((response) => response.text(), reject);
    });
    child.on('close', (status) => (status === 0 ? resolve() : reject(new Error(`login failed: ${status}`))));
  });
}

// Splits a command line of a hint; scopes are in single quotes.
const toArguments = (command) =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain).slice(1);

let logins = 0;
async function withLogin(act) {
  for (;;) {
    const error = await act();
    if (error === undefined) return undefined;
    const command = /wield mcp login .*/.exec(error.hint ?? '')?.[0];
    process.stderr.write(`${error.message}: ${error.hint}\n`);
    if (command === undefined || logins >= MAX_LOGINS) return error;
    logins += 1;
    await login(toArguments(command));
  }
}

// A value that a schema allows, for schemas as simple as those of the suite.
function toInput({ properties = {}, required = [] }) {
  const samples = { string: 'sample', number: 2, integer: 2, boolean: true, object: {}, array: [], null: null };
  return Object.fromEntries(
    required.map((name) => [name, properties[name]?.default ?? samples[properties[name]?.type]]),
  );
}

// Of scenarios with an identity provider: who calls, as its token says.
const user = context.idp_id_token && { user: 'demo-user@example.com', issuer: context.idp_issuer };
const toolbox = createNodeToolbox({
  workdir,
  env,
  debug: (text) => process.stderr.write(`${text}\n`),
  subjectToken: () => context.idp_id_token,
});
const answer = scenario.startsWith('elicitation') ? {} : { confirmed: true };
const options = {
  caller: { kind: 'person', door: 'cli', ...user },
  elicit: async () => ({ action: 'accept', content: answer }),
};
const failures = [];
const attempt = async (act) => {
  const error = await withLogin(act);
  if (error !== undefined) failures.push(error);
};
const expect = (act) => attempt(async () => (await act()).error ?? undefined);

async function run() {
  const { upstreams } = toolbox.state;
  const [{ server }] = upstreams.states();
  if (user === undefined) await attempt(() => upstreams.refresh(server).catch((error) => error));
  if (failures.length > 0 || scenario === 'json-schema-ref-no-deref') return;
  const tools = (await toolbox.list({ caller: options.caller })).filter(({ origin }) => origin.server === 'suite');
  const focal = tools.find(({ name }) => name.endsWith('json_schema_2020_12_tool'));
  const inputs = tools.filter((tool) => tool !== focal).map(({ name, input }) => [name, toInput(input.json)]);
  for (const [name, input] of context.toolCalls?.map((call) => [`suite_${call.name}`, call.arguments]) ?? inputs)
    await expect(() => toolbox.call(name, name.endsWith('_echo') ? { schema: focal.input.json } : input, options));
  for (const { uri, isTemplate } of await toolbox.catalog.resources.list())
    if (!isTemplate && uri.startsWith('mcp:')) await expect(() => toolbox.catalog.resources.read(uri, options));
  for (const { name } of await toolbox.catalog.prompts.list())
    if (name.startsWith('suite')) await expect(() => toolbox.catalog.prompts.get(name, {}, options));
}

try {
  await run();
} catch (error) {
  failures.push(error);
}
for (const { code, message, hint } of failures) process.stderr.write(`failed: ${code}: ${message} (${hint})\n`);
await toolbox.close();
rmSync(root, { recursive: true, force: true });
process.exit(failures.length === 0 ? 0 : 1);
