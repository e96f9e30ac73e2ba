// Routes of live calls, the token ledger, what models see, and the event stream.

import { ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import type { SentTool } from '../api.js';
import { callerOf, readCatalog } from './catalog.js';
import { createLive } from './live.js';
import { findNamed } from './named.js';
import type { PageParts } from './parts.js';
import type { Handlers } from './route.js';

type Names = 'GET /api/calls' | 'GET /api/tokens' | 'GET /api/events' | 'GET /api/tools/:name/sent/:provider';

export function createLiveRoutes(parts: PageParts): Handlers<Names> {
  const { toolbox, providers } = parts;
  const live = createLive(parts);
  return {
    'GET /api/calls': () => live.read(),
    'GET /api/tokens': async () => {
      await live.read();
      // Scripts have the name of a server too, for listings.
      const servers = new Set(toolbox.state.upstreams.states().map(({ server }) => server.name));
      const sent = await providers.mcp!(toolbox);
      return live.ledger.read(sent.map((one) => (servers.has(one.server ?? '') ? one : { ...one, server: null })));
    },
    'GET /api/events': async ({ signal, send }) => {
      const end = live.follow(send);
      send({ type: 'ready' });
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      end();
      return undefined;
    },
    'GET /api/tools/:name/sent/:provider': async ({ params }) => readSent(parts, params.name!, params.provider!),
  };
}

async function readSent(parts: PageParts, name: string, provider: string): Promise<SentTool> {
  const { toolbox, providers } = parts;
  if (!Object.hasOwn(providers, provider))
    throw new ToolError('not_found', 'unknown provider', { hint: `use one of ${Object.keys(providers).join(', ')}` });
  const { tool } = await findNamed(toolbox, name);
  const { originals } = toolbox.state.snapshot().settings.view;
  const sent = (await providers[provider]!(toolbox)).find((one) => (originals.get(one.tool) ?? one.tool) === tool.name);
  if (sent === undefined) {
    const { items } = await readCatalog(parts, callerOf('model'));
    const why = items.find((item) => item.name === name)?.why ?? 'the mode or profile does not show it to models';
    return { provider, name: null, why, text: '', description: '', schema: null, tokens: 0 };
  }
  const fields = fieldsOf(sent.sent);
  return { provider, ...fields, text: JSON.stringify(sent.sent, null, 2), tokens: sent.tokens };
}

// Providers nest and name the same three fields differently.
function fieldsOf(sent: object): Pick<SentTool, 'name' | 'description' | 'schema'> {
  const fields: Record<string, unknown> = { ...sent };
  if (isRecord(fields.function)) return fieldsOf(fields.function);
  const { name, description = '', inputSchema, input_schema, parameters } = fields;
  const schema = (inputSchema ?? input_schema ?? parameters ?? null) as Json;
  return { name: String(name), description: String(description), schema };
}
