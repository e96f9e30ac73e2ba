// `wield explain`: shows which rule decides a call, and which rules do not match it.

import { CALLERS, type Caller, type CallerName } from '../../core/caller.js';
import { describeUnmarked, findUnmarkedWord } from '../../core/destructive-words.js';
import { parseJson } from '../../core/json.js';
import { describeLabel, type EnteredLabel, isLabel } from '../../core/label.js';
import { quoteOutside, revealHidden, shortenPath } from '../../core/text.js';
import type { DoorOptions, Explanation, RuleText } from '../../core/toolbox.js';
import { anchorRef } from '../../files/anchor.js';
import type { NodeToolbox } from '../../node.js';
import { unknownSession } from '../../policy/session-labels.js';
import { describeSandbox } from '../../process/sandbox/text.js';
import { inputName, readInput } from '../input.js';
import { printJson } from '../print.js';
import type { Terminal } from '../terminal.js';
import { judgeUnseen } from '../unseen.js';
import { option, required, usageError, type Verb, type VerbCall } from '../verb.js';

export const explain: Verb = {
  usage: 'explain <tool> [--input JSON] [--as user] [--after LABEL+… | --session ID]',
  summary: 'Show whether a call is allowed, and which rule in which file decides it.',
  examples: ['wield explain hello', `wield explain hello --input '{"name":"Ada"}' --as mcp`],
  flags: {
    input: option('JSON|@FILE|-', 'The whole input; without it, rules about arguments do not match'),
    as: option('CALLER', 'The caller: user (you), mcp (a model) or code', { choices: Object.keys(CALLERS) }),
    after: option('LABEL+…', 'As in a session that has read content with these labels'),
    session: option('ID', 'As in this session; wield approvals sessions shows the ids'),
  },
  positionals: 1,
  async run({ terminal, flags, positionals, json, signal, cwd, toolbox: open }) {
    const named = required(positionals[0], 'tool name; usage: wield explain <tool>', 'wield list shows the tools');
    const ref = anchorRef(named, cwd);
    const caller: Caller = CALLERS[(flags.get('as') ?? 'user') as CallerName];
    const source = flags.get('input');
    const input =
      source === undefined
        ? undefined
        : parseJson(await readInput(String(source), terminal, signal), inputName(String(source)));
    const toolbox = open();
    const options: DoorOptions = { caller, entered: await readEntered(flags, toolbox) };
    const explanation = await toolbox.explain(ref, input, options).catch(async (error) => {
      // What a model does not find, a person does.
      const found = await toolbox.explain(ref, input, { ...options, caller: CALLERS.user });
      const verdict = judgeUnseen(found.tool, caller, error, toolbox);
      if (verdict === undefined) throw error;
      return { ...found, verdict, unmatched: [] };
    });
    const note = caller.kind === 'model' ? findNote(explanation) : undefined;
    if (json) return printJson(terminal, { ok: true, ...toDocument(explanation), ...(note && { note }) });
    print(terminal, explanation, toolbox.machine.world.home);
    if (note !== undefined)
      terminal.out(`\n  ${terminal.paint('yellow', 'note')}   ${note.message}\n         ${note.hint}\n`);
    return 0;
  },
};

async function readEntered(
  flags: VerbCall['flags'],
  { state, machine }: NodeToolbox,
): Promise<readonly EnteredLabel[]> {
  const after = flags.get('after');
  if (after !== undefined && flags.has('session'))
    throw usageError('--after and --session cannot be combined', 'leave out one of them');
  if (after !== undefined) {
    const labels = String(after).split('+');
    if (labels.every(isLabel)) return labels.map((label) => ({ label, tool: 'another tool', at: machine.world.now() }));
    throw usageError(
      `--after "${quoteOutside(String(after), 60)}" is not a list of labels`,
      '--after private+untrusted',
    );
  }
  const id = flags.get('session');
  if (id === undefined) return [];
  const found = (await state.labels.list()).find((session) => session.id === id);
  if (found === undefined) throw unknownSession(String(id));
  return found.labels;
}

// POL-38: by default a tool without marks is allowed, whatever its name says.
function findNote({ tool, verdict }: Explanation) {
  const word = verdict.verdict === 'allow' && verdict.rule === null ? findUnmarkedWord(tool) : undefined;
  return word === undefined ? undefined : describeUnmarked({ ...tool, name: quoteOutside(tool.name, 64) }, word);
}

function toDocument({ verdict, unmatched, sandbox, labels, entered }: Explanation) {
  const { rule, reason, source } = verdict;
  return {
    verdict: verdict.verdict,
    rule: rule === null ? null : { text: rule, file: source?.file ?? null, line: source?.line ?? null },
    reason: rule === null && source ? `${reason} (${source.file}:${source.line})` : reason,
    unmatched,
    ...(labels.length === 0 ? {} : { labels }),
    ...(entered.length === 0 ? {} : { after: entered }),
    ...(sandbox === undefined ? {} : { sandbox: { profile: sandbox.profile, backend: sandbox.backend } }),
  };
}

function print(terminal: Terminal, explanation: Explanation, home: string | undefined): void {
  const { verdict, unmatched, sandbox, labels, entered } = explanation;
  const { rule, reason, source, hint } = verdict;
  const decided = toRow({ text: rule ?? reason, file: source?.file ?? null, line: source?.line ?? null }, home);
  const others = unmatched.map((one) => toRow(one, home));
  const width = Math.max(...[decided, ...others].map(([place]) => place.length));
  const row = ([place, text]: readonly [string, string]): string =>
    place === '' ? text : `${place.padEnd(width)}   ${text}`;
  const colour = { allow: 'green', ask: 'yellow', deny: 'red' } as const;
  terminal.out(`  ${terminal.paint(colour[verdict.verdict], verdict.verdict.padEnd(5))}  ${row(decided)}\n`);
  if (hint !== undefined) terminal.out(`         ${hint}\n`);
  if (labels.length > 0) terminal.out(`\n  labels   ${labels.join(', ')}\n`);
  if (entered.length > 0) terminal.out(`\n  after    ${entered.map(describeLabel).join('\n           ')}\n`);
  if (sandbox !== undefined) terminal.out(`\n  sandbox  ${quoteOutside(describeSandbox(sandbox), 2000)}\n`);
  if (others.length > 0) terminal.out('\n  Rules that do not match this call\n');
  for (const other of others) terminal.out(`         ${terminal.paint('dim', row(other))}\n`);
}

function toRow({ text, file, line }: RuleText, home: string | undefined): readonly [string, string] {
  const place = file === null ? '' : `${quoteOutside(shortenPath(file, undefined, home), 500)}:${line}`;
  return [place, quoteOutside(revealHidden(text), 2000)];
}
