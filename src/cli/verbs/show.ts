// `wield show`: shows the details of a tool, or of a source.

import { exampleArguments, parameterRows } from '../../commands/index.js';
import { CALLERS, type Verdict } from '../../core/caller.js';
import { isToolError } from '../../core/error.js';
import type { Plan } from '../../core/plan.js';
import { describeRequirements } from '../../core/requirements.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { count, quoteOutside, sanitize } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { anchorRef } from '../../files/anchor.js';
import { toSourceJson } from '../../install/json.js';
import { treeOf } from '../../install/sources/clones.js';
import { findSource, scanRecord } from '../../install/sources/load.js';
import { describeProvenance, type Provenance, readProvenance } from '../../install/sources/signature.js';
import { loadInstalled, loadSources } from '../../install/state.js';
import { toReadOnlyEnvironment } from '../../install/toolbox-environment.js';
import type { NodeToolbox } from '../../node.js';
import { labelsOf } from '../../policy/selected-tool.js';
import { describeMissing, missingOf } from '../../process/requirements.js';
import { describeSandbox } from '../../process/sandbox/text.js';
import { commandOf } from '../commands.js';
import { printJson } from '../print.js';
import { oneLine, printTable } from '../table.js';
import { judgeUnseen } from '../unseen.js';
import { required, toggle, type Verb } from '../verb.js';

export const show: Verb = {
  usage: 'show <tool> [--json]\n  wield show --source <source>',
  summary: 'Show the details of a tool: parameters, origin, what it runs, who may call it.',
  examples: ['wield show hello', 'wield show hello --json'],
  flags: { source: toggle('Show a source of tools and skills') },
  positionals: 1,
  completes: 'tools',
  async run({ terminal, positionals, json, cwd, reserved, toolbox: open }) {
    const named = required(positionals[0], 'tool name; usage: wield show <tool>', 'wield list shows the tools');
    const ref = anchorRef(named, cwd);
    const toolbox = open();
    const tool = await toolbox.find(ref);
    const { command, sandbox, verdicts } = await judge(toolbox, ref, tool);
    const [person, model] = verdicts;
    const labels = labelsOf(tool, toolbox.state.snapshot().policy);
    // A tool named by path has no command.
    const exampleCommand = named === tool.name ? commandOf(tool, reserved) : `wield call ${named}`;
    const governed = await toolbox.catalog.cascade(tool).catch(() => null);
    const provenance = await findProvenance(tool, toolbox);
    if (json)
      return printJson(terminal, {
        ok: true,
        name: tool.name,
        description: tool.description,
        input: tool.input.json,
        output: tool.output?.json,
        action: tool.action,
        origin: tool.origin,
        ...(provenance === undefined ? {} : { provenance }),
        traits: tool.traits,
        labels,
        cascade: governed && { ...governed, authority: governed.authority?.file ?? null },
        ...(sandbox === undefined ? {} : { sandbox: { profile: sandbox.profile, backend: sandbox.backend } }),
        verdict: person,
        verdicts: { person, model },
      });
    const rows = parameterRows(tool);
    const example = exampleArguments(tool);
    const facts: [string, string][] = [
      ['format', tool.origin.format],
      ['from', tool.origin.uri ?? 'this program'],
      ['commit', provenance === undefined ? '' : describeProvenance(provenance)],
      ['digest', tool.origin.digest ?? 'none'],
      ['runs', command],
      ['sandbox', sandbox === undefined ? '' : describeSandbox(sandbox)],
      ['you', describeVerdict(person!)],
      ['a model', describeVerdict(model!)],
      ['traits', describeTraits(tool)],
      ['labels', labels.join(', ')],
      ['requires', await describeRequired(tool, toolbox)],
      ['governed', governed?.authority ? `by ${governed.authority.name}, ${governed.authority.file}` : ''],
      ['may call', (governed?.permissions ?? []).map((list) => list.join(' ') || 'nothing').join('; and ')],
      ['example', example === undefined ? '' : [exampleCommand, ...example].join(' ')],
    ];
    terminal.out(`${terminal.paint('bold', tool.name)}\n${sanitize(tool.description)}\n\n`);
    if (rows.length > 0) terminal.out(`${sanitize(rows.join('\n'))}\n\n`);
    for (const [name, value] of facts) {
      if (value !== '') terminal.out(`  ${terminal.paint('dim', name.padEnd(8))} ${quoteOutside(value, 2000)}\n`);
    }
    return 0;
  },
};

// Of an installed tool or text: the commit that it is from (INS-95).
async function findProvenance({ origin }: Tool, toolbox: NodeToolbox): Promise<Provenance | undefined> {
  if (origin.source === null || origin.owner !== 'package') return undefined;
  const environment = toReadOnlyEnvironment(toolbox);
  const item = loadInstalled(environment.paths).items.find(
    ({ store, source }) => store === origin.directory && source === origin.source,
  );
  const record = loadSources(environment.paths).find(({ id }) => id === origin.source);
  return item && readProvenance(record, item.commit, environment);
}

// Plans a call by a person and by a model; an error becomes the verdict.
async function judge(toolbox: NodeToolbox, ref: string, tool: Tool) {
  const verdicts: Verdict[] = [];
  let command = '';
  let sandbox: SandboxPlan | undefined;
  for (const caller of [CALLERS.user, CALLERS.mcp]) {
    try {
      const { plan, verdict } = await toolbox.plan(ref, tool.traits.examples[0] ?? {}, { caller, checkInput: false });
      verdicts.push(verdict);
      command = describeRun(plan);
      if ('sandbox' in plan) sandbox = plan.sandbox;
    } catch (error) {
      if (!isToolError(error)) throw error;
      const unseen = judgeUnseen(tool, caller, error, toolbox);
      if (unseen === undefined) command = `nothing: ${error.message}`;
      verdicts.push(unseen ?? { verdict: 'deny', rule: null, reason: error.message, code: error.code });
    }
  }
  return { command, sandbox, verdicts };
}

function describeRun(plan: Plan): string {
  switch (plan.kind) {
    case 'process':
      return [...plan.launcher, plan.binary, ...plan.argv.slice(1)].join(' ');
    case 'text':
      return `nothing: returns the text of ${plan.file}`;
    case 'delegate':
      return `${plan.ref} instead`;
    case 'module':
      return `${plan.export} of ${plan.source.file}, in the tool host`;
    case 'remote':
      return `${plan.remoteTool} of the server ${plan.server}: ${plan.target}`;
    case 'http':
      return `${plan.method} ${plan.url}`;
    case 'function':
      return 'a function in this process';
  }
}

// What it requires, and what of that is missing.
async function describeRequired(tool: Tool, { machine, state }: NodeToolbox): Promise<string> {
  const { requires } = tool.traits;
  if (requires === undefined) return '';
  const missing = describeMissing(await missingOf(tool, machine.world, state.snapshot()));
  return [describeRequirements(requires), ...(missing === undefined ? [] : [missing])].join('. ');
}

function describeVerdict({ verdict, reason, source }: Verdict): string {
  return `${verdict}: ${reason}${source === undefined ? '' : ` (${source.file}:${source.line})`}`;
}

function describeTraits({ traits }: Tool): string {
  return [
    ...(traits.group === undefined ? [] : [`group ${traits.group}`]),
    ...traits.tags.map((tag) => `#${tag}`),
    ...(['hidden', 'terminal', 'readOnly', 'destructive', 'idempotent', 'openWorld'] as const).filter(
      (name) => traits[name],
    ),
    ...(traits.role === undefined ? [] : [`role ${traits.role}`]),
    ...(traits.timeoutMs === undefined ? [] : [`timeout ${traits.timeoutMs} ms`]),
  ].join(', ');
}

export const showSource: Verb = {
  usage: 'show --source <source> [--json]',
  summary: 'Show the items of a source, and everything it has that is not installed, with the reason.',
  examples: ['wield show --source acme/agent-tools'],
  positionals: 1,
  async run({ terminal, positionals, json, cwd, toolbox }) {
    const usage = 'source; usage: wield show --source <source>';
    const named = required(positionals[0], usage, 'wield list --sources shows them');
    const environment = toReadOnlyEnvironment(toolbox());
    const { paths } = environment;
    const record = findSource(named, loadSources(paths), cwd);
    const shown = toSourceJson({ record, scan: scanRecord(record, treeOf(record, paths)) });
    const provenance = await readProvenance(record, record.commit, environment);
    if (json) return printJson(terminal, { ok: true, source: { ...shown, time: provenance?.time ?? null } });
    terminal.out(`${terminal.paint('bold', sanitize(shown.id))}  ${sanitize(shown.location)}\n`);
    if (shown.description !== null) terminal.out(`${quoteOutside(shown.description, 2000)}\n`);
    if (provenance !== undefined) terminal.out(`  commit   ${describeProvenance(provenance)}\n`);
    const rows = shown.items.map(({ effective, kind, description }) => [effective, kind, oneLine(description ?? '')]);
    if (rows.length > 0) printTable(terminal, ['NAME', 'KIND', 'DESCRIPTION'], rows);
    for (const { what, reason, paths: names } of shown.skipped) {
      terminal.out(`\n  ${terminal.paint('yellow', 'skipped')}  ${count(names.length, what)}: ${sanitize(reason)}\n`);
      for (const name of names) terminal.out(`           ${quoteOutside(name, 300)}\n`);
    }
    return 0;
  },
};
