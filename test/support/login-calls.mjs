// Calls a tool behind a login many times at once and prints the outcome of each call.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createGuardedFetch } from '../../dist/net/fetch.js';
import { withLogin } from '../../dist/upstream/login/oauth.js';

const { server, directory, times, rounds, pauseMs } = JSON.parse(process.argv[2]);
const world = {
  now: Date.now,
  monotonic: () => performance.now(),
  debug: (text) => void process.stderr.write(`${text}\n`),
};
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
const outcomes = [];
try {
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), {
      fetch: withLogin(createGuardedFetch({ url: server.url }), {
        server,
        directory,
        world,
        createFetch: createGuardedFetch,
      }),
    }),
  );
  for (let round = 0; round < rounds; round++) {
    const calls = Array.from({ length: times }, () => client.callTool({ name: 'whoami', arguments: {} }));
    for (const { status, reason } of await Promise.allSettled(calls))
      outcomes.push(status === 'fulfilled' ? 'ok' : String(reason?.message));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
} catch (error) {
  outcomes.push(`${error.code}: ${error.message}`);
}
process.stdout.write(JSON.stringify(outcomes));
await client.close();
