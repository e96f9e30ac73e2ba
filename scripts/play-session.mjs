// A session to watch on the page: an agent that calls the tools of the demonstration until the server ends.

import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const PAUSE_MS = 3000;
const NAMES = ['Ada', 'Grace', 'Edsger', 'Barbara'];

/** Calls tools in turn. The call of `deploy` waits for approval; once approved, it runs, and the next one waits. */
export async function playSession(url) {
  const client = new Client({ name: 'demo-agent', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const call = (name, input) => client.callTool({ name, arguments: input });
  let release = 1;
  for (let turn = 0; ; turn++) {
    await call('hello', { name: NAMES[turn % NAMES.length] });
    await pause(PAUSE_MS);
    await call('orders', {});
    await pause(PAUSE_MS);
    const { isError } = await call('deploy', { branch: `release-${release}` });
    if (!isError) release++;
    await pause(PAUSE_MS);
  }
}
