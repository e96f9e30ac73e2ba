// The same tools served by tmcp.

import { StdioTransport } from '@tmcp/transport-stdio';
import { createTmcp } from './tmcp-server.mjs';

new StdioTransport(createTmcp()).listen();
