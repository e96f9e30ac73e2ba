// The same tools served over HTTP by tmcp; prints its port.

import { HttpTransport } from '@tmcp/transport-http';
import { listenWeb } from './listen.mjs';
import { createTmcp } from './tmcp-server.mjs';

const transport = new HttpTransport(createTmcp());
listenWeb(async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }));
