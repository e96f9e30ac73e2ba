// `wield tokens`: how many tokens the definitions of the tools cost a model, per tool.

import { toAnthropicTools } from '../../adapters/anthropic/index.js';
import { toOllamaTools } from '../../adapters/ollama/index.js';
import { toOpenAITools } from '../../adapters/openai/index.js';
import { encodeNames } from '../../core/name.js';
import { compareText, count } from '../../core/text.js';
import { estimateTokens } from '../../core/tokens.js';
import type { Tool } from '../../core/tool.js';
import type { Toolbox } from '../../core/toolbox.js';
import { listForClients, MAX_NAME_LENGTH, MODEL } from '../../mcp-server/listing.js';
import { printJson } from '../print.js';
import { MODE, openProfile, PROFILE } from '../profile.js';
import { printTable } from '../table.js';
import { option, usageError, type Verb } from '../verb.js';

/** What each adapter sends, in the order of the toolbox. */
const ADAPTERS: Readonly<Record<string, (toolbox: Toolbox) => Promise<readonly object[]>>> = {
  mcp: listForClients,
  anthropic: toAnthropicTools,
  openai: toOpenAITools,
  ollama: toOllamaTools,
};

export const tokens: Verb = {
  name: 'tokens',
  usage: 'tokens [--profile NAME] [--mode MODE] [--adapter ADAPTER] [--max N] [--json]',
  summary: 'Show how many tokens the tools cost a model, biggest first.',
  examples: ['wield tokens', 'wield tokens --profile review --max 4000', 'wield tokens --adapter anthropic --json'],
  flags: {
    profile: PROFILE,
    mode: MODE,
    adapter: option('ADAPTER', `Count what this adapter sends: ${Object.keys(ADAPTERS).join(', ')}; mcp by default`, {
      choices: Object.keys(ADAPTERS),
    }),
    max: option('N', 'Exit with 1 if the tools cost more'),
  },
  positionals: 0,
  async run(call) {
    const { terminal, flags, json } = call;
    const adapter = String(flags.get('adapter') ?? 'mcp');
    if (!Object.hasOwn(ADAPTERS, adapter))
      throw usageError(`unknown adapter "${adapter}"`, `use one of ${Object.keys(ADAPTERS).join(', ')}`);
    const most = readMax(flags.get('max'));
    const toolbox = openProfile(call);
    const tools = await countTokens(toolbox, adapter);
    const total = tools.reduce((sum, tool) => sum + tool.tokens, 0);
    const isOver = most !== undefined && total > most;
    if (json) printJson(terminal, { ok: !isOver, adapter, total, tools });
    else {
      const rows = tools.map(({ name, server, tokens }) => [name, server ?? '', tokens.toLocaleString('en')]);
      if (rows.length > 0) printTable(terminal, ['TOOL', 'SERVER', 'TOKENS'], rows);
      terminal.out(
        `\n  about ${total.toLocaleString('en')} tokens for ${count(tools.length, 'tool')}, sent by ${adapter}\n`,
      );
    }
    if (!isOver) return 0;
    terminal.err(`error  the tools cost ${total} tokens, more than ${most}\n`);
    terminal.err('  hint  narrow them with --profile, or use --mode search\n');
    return 1;
  },
};

interface CountedTool {
  readonly name: string;
  readonly server: string | null;
  readonly tokens: number;
}

async function countTokens(toolbox: Toolbox, adapter: string): Promise<readonly CountedTool[]> {
  const sent = await ADAPTERS[adapter]!(toolbox);
  const tools = await toolbox.list({ caller: { ...MODEL, door: adapter } });
  const { encode } = encodeNames(
    tools.map(({ name }) => name),
    adapter === 'mcp' ? MAX_NAME_LENGTH : undefined,
  );
  // A tool without a name that the adapter can send is left out.
  const shown = tools.filter(({ name }) => encode.has(name));
  return shown
    .map(
      ({ name, origin }: Tool, at): CountedTool => ({
        name,
        server: origin.server,
        tokens: estimateTokens(JSON.stringify(sent[at])),
      }),
    )
    .sort((a, b) => b.tokens - a.tokens || compareText(a.name, b.name));
}

function readMax(given: string | true | undefined): number | undefined {
  if (given === undefined) return undefined;
  const most = Number(given);
  if (Number.isSafeInteger(most) && most >= 0) return most;
  throw usageError(`--max "${String(given)}" must be a whole number`, 'for example --max 4000');
}
