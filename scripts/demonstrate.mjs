// The steps of the demonstration: commands of a person, and calls of an agent over MCP.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const MAX_LINE = 160;

/** Runs every step and prints it with its output; throws if one does not end as it should. */
export async function demonstrate(demo, addTools) {
  say(
    'A demonstration in a temporary workspace. `wield` is `node dist/cli/wield.cjs`; `npm link` puts it on your PATH.',
  );
  addTools();

  say('# Tools are files with a comment header');
  await person(demo, 0, 'list');
  await person(demo, 0, 'call', 'hello', '--name', 'Ada');

  say('# A mistake gets a correction');
  await person(demo, 2, 'call', 'deploy', '--brnch', 'main');

  const agent = await connectAgent(demo);
  say('# An agent calls a destructive tool: the call waits for you');
  const refused = await agent.call('deploy', { branch: 'main' }, { fails: true });
  const id = /wield approvals approve (\w+)/.exec(refused)?.[1];
  if (id === undefined) throw new Error(`no approval was requested:\n${refused}`);
  await person(demo, 0, 'approvals', 'approve', id);
  await agent.call('deploy', { branch: 'main' });

  say('# A large result does not enter the context: the agent gets a handle, and asks for what it needs');
  const stored = await agent.call('orders', {});
  const handle = /r_[\w-]+/.exec(stored)?.[0];
  if (handle === undefined) throw new Error(`no handle was returned:\n${stored}`);
  await agent.call('read_result', { id: handle, limit: 60 });
  await agent.call('query_result', { id: handle, query: '$sum(amount)' });

  say('# Every call is recorded');
  await agent.close();
  await person(demo, 0, 'audit');
}

function say(text) {
  console.log(`\n${text}`);
}

function show(text) {
  const lines = text.trimEnd().split('\n');
  for (const line of lines) console.log(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line);
}

async function person({ run }, expected, ...args) {
  console.log(`\n$ wield ${args.join(' ')}`);
  const { status, output } = await run(...args);
  show(output);
  if (status !== expected) throw new Error(`exit status ${status} instead of ${expected}`);
}

async function connectAgent({ binary, workdir, env }) {
  const client = new Client({ name: 'agent', version: '1' });
  const args = [binary, 'serve'];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd: workdir, env, stderr: 'ignore' }),
  );
  return {
    async call(name, input, { fails = false } = {}) {
      console.log(`\nagent> ${name} ${JSON.stringify(input)}`);
      const { content, isError = false } = await client.callTool({ name, arguments: input });
      const text = content.map((part) => part.text ?? '').join('\n');
      show(text);
      if (isError !== fails) throw new Error(`${name} ${isError ? 'failed' : 'did not fail'}`);
      return text;
    },
    close: () => client.close(),
  };
}
