// The same tools served by FastMCP.

import { createFastmcp } from './fastmcp-server.mjs';

await createFastmcp().start({ transportType: 'stdio' });
