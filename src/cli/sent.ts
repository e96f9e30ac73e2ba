// What each adapter sends to a model, tool by tool, with its tokens.

import { toAnthropicTools } from '../adapters/anthropic/index.js';
import { toOllamaTools } from '../adapters/ollama/index.js';
import { toOpenAITools } from '../adapters/openai/index.js';
import { encodeNames } from '../core/name.js';
import { estimateTokens } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { MODEL } from '../mcp-server/identity.js';
import { listForClients, MAX_NAME_LENGTH } from '../mcp-server/listing.js';
import type { ListSent } from '../ui/server/parts.js';

/** By the name of the adapter, in the order of the toolbox. */
export const SENT: Readonly<Record<string, ListSent>> = {
  mcp: listSent('mcp', listForClients, MAX_NAME_LENGTH),
  anthropic: listSent('anthropic', toAnthropicTools),
  openai: listSent('openai', toOpenAITools),
  ollama: listSent('ollama', toOllamaTools),
};

function listSent(door: string, read: (toolbox: Toolbox) => Promise<readonly object[]>, limit?: number): ListSent {
  return async (toolbox) => {
    const sent = await read(toolbox);
    const tools = await toolbox.list({ caller: { ...MODEL, door } });
    const { encode } = encodeNames(
      tools.map(({ name }) => name),
      limit,
    );
    // A tool without a name that the adapter can send is left out.
    return tools
      .filter(({ name }) => encode.has(name))
      .map(({ name, origin }, at) => ({
        tool: name,
        server: origin.server,
        sent: sent[at]!,
        tokens: estimateTokens(JSON.stringify(sent[at])),
      }));
  };
}
