// `wield list --background`: processes in the background of all sessions, the output of one, and its end (BGR-9).

import { backgroundDirectory, type FoundProcess, readProcesses, requestStop } from '../../background/files.js';
import { readOutput } from '../../background/output.js';
import { pauseUnlessAborted } from '../../core/async.js';
import { assertPerson } from '../../core/caller.js';
import { ToolError } from '../../core/error.js';
import { didYouMean, formatDuration, quoteOutside } from '../../core/text.js';
import { printJson, report } from '../print.js';
import { reportTable } from '../table.js';
import { toggle, usageError, type Verb, type VerbCall } from '../verb.js';
import { createVisibleOutput } from '../visible-output.js';

const POLL_MS = 200;
// A process has two seconds after SIGTERM.
const STOP_MS = 10_000;
const PART_BYTES = 64 * 1024;

export const listBackground: Verb = {
  usage: 'list --background [id or tool] [--follow | --stop] [--json]',
  summary: 'List processes in the background, show the output of one, or stop it.',
  examples: ['wield list --background', 'wield list --background dev --follow', 'wield list --background dev --stop'],
  flags: {
    follow: toggle('Print new output as it comes, until the process ends'),
    stop: toggle('Stop the process, with everything that it started'),
  },
  positionals: 1,
  runsUntilStopped: true,
  async run(call) {
    const { flags, positionals, json, terminal } = call;
    const { machine } = call.toolbox();
    const directory = backgroundDirectory(machine.wieldHome);
    const [given] = positionals;
    const all = readProcesses(directory);
    if (given === undefined) {
      if (flags.has('follow') || flags.has('stop'))
        throw usageError('missing id', 'wield list --background shows the ids');
      return reportProcesses(call, all);
    }
    const found = findProcess(given, all);
    if (flags.has('stop')) {
      assertPerson(machine.insideCall, 'stopping a process');
      return stop(call, directory, found);
    }
    if (!json) return showOutput(call, directory, found);
    if (flags.has('follow')) throw usageError('--follow and --json cannot be combined', 'leave out one of them');
    const { text, from } = readOutput(found.base, 0, Number.MAX_SAFE_INTEGER);
    return printJson(terminal, { ok: true, process: toJson(found), offset: from, output: text });
  },
};

function toJson({ base: _, ended, ok, ...process }: FoundProcess) {
  return { ...process, ended: ended ?? null, ok: ok ?? null };
}

function reportProcesses(call: VerbCall, all: readonly FoundProcess[]): number {
  const now = call.terminal.io.now();
  const rows = all.map(({ id, tool, pid, caller, since, ended, workdir }) => [
    id,
    quoteOutside(tool, 40),
    pid === null ? '' : String(pid),
    quoteOutside(caller, 40),
    quoteOutside(ended ?? `running for ${formatDuration(Math.max(0, now - Date.parse(since)))}`, 60),
    quoteOutside(workdir, 200),
  ]);
  const head = ['ID', 'TOOL', 'PROCESS', 'CALLER', 'STATE', 'IN'];
  return reportTable(call, { processes: all.map(toJson) }, { head, rows, none: 'Nothing runs in the background.' });
}

function findProcess(given: string, all: readonly FoundProcess[]): FoundProcess {
  const named = all.filter(({ id, tool }) => id === given || tool === given);
  const running = named.filter(({ ended }) => ended === undefined);
  const [found, other] = running.length > 0 ? running : named.slice(-1);
  if (found !== undefined && other === undefined) return found;
  const ids = named.map(({ id }) => id).join(', ');
  if (found !== undefined)
    throw new ToolError('ambiguous', `several processes of ${given} run in the background`, {
      hint: `give one of ${ids}`,
    });
  const names = all.flatMap(({ id, tool }) => [id, tool]);
  throw new ToolError('not_found', `no process in the background: ${quoteOutside(given, 60)}`, {
    hint: didYouMean(given, names, 'wield list --background shows those of all sessions'),
  });
}

const nameOf = ({ tool, id }: FoundProcess): string => `${quoteOutside(tool, 60)} (${id})`;

const find = (directory: string, { id }: FoundProcess): FoundProcess | undefined =>
  readProcesses(directory).find((one) => one.id === id);

async function stop(call: VerbCall, directory: string, found: FoundProcess): Promise<number> {
  const { terminal, signal } = call;
  if (found.ended === undefined) requestStop(found.base);
  const until = terminal.io.now() + STOP_MS;
  let now = find(directory, found);
  while (now !== undefined && now.ended === undefined && !signal.aborted) {
    if (terminal.io.now() > until)
      throw new ToolError('timeout', `${nameOf(found)} did not end within ${formatDuration(STOP_MS)}`, {
        hint: `its wield process may be stuck; end the process: kill -9 -${found.pid}`,
      });
    await pauseUnlessAborted(POLL_MS, signal);
    now = find(directory, found);
  }
  const how = now?.ended === undefined ? '' : `: ${quoteOutside(now.ended)}`;
  return report(call, { process: toJson(now ?? found) }, `${nameOf(found)} has ended${how}.\n`);
}

async function showOutput({ terminal, flags, signal }: VerbCall, directory: string, found: FoundProcess) {
  const visible = terminal.io.stdout.isTerminal ? createVisibleOutput() : undefined;
  let from = 0;
  const print = async (): Promise<void> => {
    for (;;) {
      const part = readOutput(found.base, from, PART_BYTES);
      if (part.isGap) terminal.err(`[output before byte ${part.from} is no longer kept]\n`);
      if (part.text === '') return;
      const bytes = Buffer.from(part.text);
      await terminal.outAsync(visible === undefined ? bytes : Buffer.from(visible.pass(bytes)));
      from = part.next;
    }
  };
  let now: FoundProcess | undefined = found;
  while (flags.has('follow') && now !== undefined && now.ended === undefined && !signal.aborted) {
    await print();
    await pauseUnlessAborted(POLL_MS, signal);
    now = find(directory, found);
  }
  await print();
  terminal.out(visible?.end() ?? '');
  if (now?.ended !== undefined) terminal.err(`[${nameOf(found)} ended: ${quoteOutside(now.ended)}]\n`);
  return 0;
}
