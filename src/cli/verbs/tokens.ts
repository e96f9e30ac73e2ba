// `wield list --tokens`: how many tokens the definitions of the tools cost a model, per tool.

import { compareText, count } from '../../core/text.js';
import { printJson } from '../print.js';
import { MODE, openProfile, PROFILE, warnOfProfile } from '../profile.js';
import { SENT } from '../sent.js';
import { printTable } from '../table.js';
import { numberOf, option, type Verb } from '../verb.js';

export const tokens: Verb = {
  usage: 'list --tokens [--profile NAME] [--mode MODE] [--adapter ADAPTER] [--max N] [--json]',
  summary: 'Show how many tokens the tools cost a model, biggest first.',
  examples: [
    'wield list --tokens',
    'wield list --tokens --profile review --max 4000',
    'wield list --tokens --adapter anthropic --json',
  ],
  flags: {
    profile: PROFILE,
    mode: MODE,
    adapter: option('ADAPTER', `Count what this adapter sends: ${Object.keys(SENT).join(', ')}; mcp by default`, {
      choices: Object.keys(SENT),
    }),
    max: option('N', 'Exit with 1 if the tools cost more', {
      range: [0, Number.MAX_SAFE_INTEGER, 'for example --max 4000'],
    }),
  },
  async run(call) {
    const { terminal, flags, json } = call;
    const adapter = String(flags.get('adapter') ?? 'mcp');
    const most = numberOf(call, 'max');
    const toolbox = openProfile(call);
    const tools = (await SENT[adapter]!(toolbox))
      .map(({ tool: name, server, tokens }) => ({ name, server, tokens }))
      .sort((a, b) => b.tokens - a.tokens || compareText(a.name, b.name));
    await warnOfProfile(call, toolbox);
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
