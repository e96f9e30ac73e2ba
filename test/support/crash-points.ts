// Interrupts an operation at a system call, and checks that the old or the new state remains.

import type { CliRun } from './cli.js';
import { type CrashPlace, compareTrees, createCrashPlace, type Tree } from './crash-place.js';
import { patience } from './patience.js';
import { type Fault, injectAt, type Step, traceSteps, withoutRandom } from './strace.js';

/** A command that changes state. */
export interface Operation {
  readonly name: string;
  readonly args: readonly string[];
  /** Creates the old state. */
  prepare(place: CrashPlace): Promise<void>;
  /** Returns more arguments, known only in the old state. */
  moreArgs?(place: CrashPlace): Promise<readonly string[]>;
  /** Commands that read the state; their output is compared. */
  readonly observe: readonly (readonly string[])[];
  /** Other states that an interruption may leave. */
  also?(old: Tree, next: Tree): readonly Tree[];
  /** It removes several files that mean nothing to each other: any part of them may be gone. */
  readonly removes?: boolean;
}

interface State {
  readonly seen: string;
  readonly tree: Tree;
}

export interface Prepared {
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly place: CrashPlace;
  readonly steps: readonly Step[];
  readonly old: State;
  readonly next: State;
  /** The status of an uninterrupted run, and of a second one. */
  readonly status: number | null;
  readonly repeated: number | null;
  /** Trees after a run, and after a second one. */
  readonly after: Tree;
  readonly afterRepeated: Tree;
  readonly audit: { readonly before: readonly string[]; readonly added: number };
}

/** What went wrong at a point; `missed` if the run did not come to that system call. */
export type Outcome = { readonly missed: boolean; readonly failures: readonly string[] };

const INTERNAL_ERROR = 70;
// How long a point is tried whose number differs between runs.
const REACH_MS = patience(90_000);
const NAMED: Readonly<Record<Exclude<Fault, 'KILL'>, RegExp>> = {
  ENOSPC: /ENOSPC|no space left|disk is full/i,
  EIO: /\bEIO\b|i\/o error/i,
};
// SQLite does not tell the reason of the system.
const STORE_FAILED = /the context store failed: .*(?:disk|database)/;
// Removed by the next command that writes there, or by `wield clean`.
const TEMPORARY = /\.tmp$|\.wield-link-|\/\.staging-|\.lock\/|\/locks\//;

/** Runs the operation without interruption, and remembers both states. */
export async function prepareOperation(operation: Operation): Promise<Prepared> {
  const place = createCrashPlace();
  await operation.prepare(place);
  const args = [...operation.args, ...((await operation.moreArgs?.(place)) ?? [])];
  place.save('start');
  // Compiled code is saved in the first two runs.
  for (let run = 0; run < 2; run++) {
    await place.runProcess(...args);
    place.saveCache('start');
    place.restore('start');
  }
  const before = place.audit();
  const old = await observe(place, operation);
  place.restore('start');
  const { steps, ...first } = await traceSteps(place, args);
  const added = place.audit().length - before.length;
  const after = withoutTemporary(place.tree());
  place.save('after');
  const second = await place.run(...args);
  const afterRepeated = withoutTemporary(place.tree());
  place.restore('after');
  const next = await observe(place, operation);
  assertSensible(operation, first, second, steps);
  return {
    operation,
    args,
    place,
    steps,
    old,
    next,
    status: first.status,
    repeated: second.status,
    after,
    afterRepeated,
    audit: { before, added },
  };
}

function assertSensible({ name }: Operation, first: CliRun, second: CliRun, steps: readonly Step[]): void {
  for (const { status, stdout, stderr } of [first, second])
    if (status === null || status === INTERNAL_ERROR) throw new Error(`${name}: ${status} ${stdout}${stderr}`);
  if (steps.length === 0) throw new Error(`${name} changes nothing: ${first.stdout}${first.stderr}`);
}

/** Interrupts the operation at a step, then reads the state and runs the operation again. */
export async function tryPoint(prepared: Prepared, step: Step, fault: Fault): Promise<Outcome> {
  const { args, place } = prepared;
  let current = step;
  const deadline = performance.now() + REACH_MS;
  for (;;) {
    place.restore('start');
    const run = await injectAt(place, current, fault, args);
    if (run.hit) return { missed: false, failures: await judge(prepared, run, fault) };
    if (performance.now() > deadline) return { missed: true, failures: [] };
    // Counted again: after a tool, the environments of all processes started meanwhile are read, those of others too.
    place.restore('start');
    const { steps } = await traceSteps(place, args);
    current = steps.find(({ call, at }) => call === step.call && at === step.at) ?? step;
  }
}

async function judge(prepared: Prepared, run: CliRun, fault: Fault): Promise<string[]> {
  const { operation, place, old, next, status } = prepared;
  const failures = [...judgeRun(prepared, run, fault), ...judgeAudit(prepared, run, fault)];
  place.save('crashed');
  const state = await observe(place, operation, [old, next]);
  const isNew = matches(state, next);
  const isOld = matches(state, old);
  if (!isOld && !isNew && !isOther(prepared, state))
    failures.push(`neither the old nor the new state: ${explain(state, old, next)}`);
  if (fault !== 'KILL' && run.status === status && !isNew && !operation.removes)
    failures.push('it reported success, but the state is not the new one');
  place.restore('crashed');
  const again = await place.run(...prepared.args);
  const expected = isNew && !isOld ? prepared.repeated : status;
  const mayBoth = !isOld && !isNew;
  if (again.status !== expected && !(mayBoth && again.status === prepared.repeated))
    failures.push(`a second run exits with ${again.status} instead of ${expected}: ${shorten(again)}`);
  const tree = withoutTemporary(place.tree());
  const allowed = [prepared.after, prepared.afterRepeated];
  const others = allowed.flatMap((other) => operation.also?.(old.tree, other) ?? []);
  if (![...allowed, ...others].some((other) => compareTrees(tree, other).length === 0))
    failures.push(`after a second run: ${compareTrees(tree, prepared.after).slice(0, 5).join(', ')}`);
  return failures;
}

function judgeRun({ status }: Prepared, run: CliRun, fault: Fault): string[] {
  if (run.status === INTERNAL_ERROR) return [`internal error: ${shorten(run)}`];
  if (fault === 'KILL' || run.status === status) return [];
  const text = run.stdout + run.stderr;
  return NAMED[fault].test(text) || STORE_FAILED.test(text)
    ? []
    : [`the error does not name ${fault}: ${shorten(run)}`];
}

// Every record is whole, none is lost, and none is written twice.
function judgeAudit({ place, status, audit: { before, added } }: Prepared, run: CliRun, fault: Fault): string[] {
  const lines = place.audit();
  const damaged = lines.filter((line) => !isJson(line));
  const lost = before.filter((line) => !lines.includes(line));
  const more = lines.length + lost.length - before.length;
  const isSilent = fault !== 'KILL' && run.status === status && more < added && !run.stderr.includes('not recorded');
  return [
    ...(isSilent ? ['a record is missing from the audit log, without a warning'] : []),
    ...(damaged.length === 0 ? [] : [`damaged lines in the audit log: ${damaged[0]}`]),
    // Rotation may remove old records, if the uninterrupted run does.
    ...(lost.length === 0 || added < 1 ? [] : [`${lost.length} records of the audit log are lost`]),
    ...(more <= Math.max(added, 1) ? [] : [`${more} records in the audit log instead of ${added}`]),
  ];
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** Runs the commands that read the state, cleans up unless the files are known ones, and lists all files. */
async function observe(
  place: CrashPlace,
  { observe: commands, removes }: Operation,
  known: readonly State[] = [],
): Promise<State> {
  // An operation that removes is compared as it was left, since reading may recover.
  const left = removes ? withoutTemporary(place.tree()) : undefined;
  const texts: string[] = [];
  for (const command of commands) {
    const { status, stdout } = await place.run(...command);
    texts.push(`${command.join(' ')}: ${status} ${withoutRandom(stdout)}`);
  }
  const seen = texts.join('\n');
  if (left !== undefined) return { seen, tree: left };
  const state = { seen, tree: place.tree() };
  if (known.some((other) => matches(state, other))) return state;
  await place.run('clean');
  return { seen, tree: place.tree() };
}

function matches(state: State, other: State): boolean {
  return state.seen === other.seen && compareTrees(state.tree, other.tree).length === 0;
}

function isOther({ operation, old, next }: Prepared, state: State): boolean {
  const others = operation.also?.(old.tree, next.tree) ?? [];
  if (others.some((tree) => compareTrees(state.tree, tree).length === 0)) return true;
  return operation.removes === true && state.seen === next.seen && isBetween(state.tree, old.tree, next.tree);
}

function isBetween(tree: Tree, old: Tree, next: Tree): boolean {
  const isKept = [...next].every(([path, content]) => tree.get(path) === content);
  return isKept && [...tree].every(([path, content]) => old.get(path) === content || next.get(path) === content);
}

function explain(state: State, old: State, next: State): string {
  const seen = state.seen === old.seen ? 'old' : state.seen === next.seen ? 'new' : state.seen;
  const [fromOld, fromNew] = [old, next].map(({ tree }) => compareTrees(state.tree, tree).slice(0, 5).join(', '));
  return `seen ${seen}; compared with the old files: ${fromOld || 'same'}; with the new files: ${fromNew || 'same'}`;
}

function withoutTemporary(tree: Tree): Tree {
  return new Map([...tree].filter(([path]) => !TEMPORARY.test(path)));
}

function shorten({ stdout, stderr }: CliRun): string {
  return (stderr + stdout).trim().slice(0, 400);
}
