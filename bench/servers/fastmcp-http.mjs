// The same tools served over HTTP by FastMCP; prints its port.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { createFastmcp } from './fastmcp-server.mjs';

// FastMCP does not report the port that the system chose, so a free one is found first.
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();
await once(probe, 'close');
await createFastmcp().start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } });
console.log(port);
