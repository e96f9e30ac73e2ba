// Programs whose process is killed at each of its system calls, or whose engine is killed at each of its messages: no
// call runs twice, and none is lost silently.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { json, wieldProcess } from '../support/cli.js';
import { type CrashPlace, createCrashPlace } from '../support/crash-place.js';
import { ALL_TESTS, sample, THOROUGH } from '../support/effort.js';
import { processesWith, sleep } from '../support/processes.js';
import { shellScript } from '../support/shell-script.js';
import { specIf, TAKES_LONG } from '../support/spec.js';
import { hasStrace, killAtCall, NO_STRACE, type Step, traceSteps } from '../support/strace.js';

const PROGRAM = `const tried = (call) => call.catch((error) => error.message);
const one = await tools.note({ text: 'one' });
const deployed = await Promise.all(['a', 'b'].map((branch) => tried(tools.deploy({ branch }))));
return [one, ...deployed, await tried(tools.note({ text: 'two' }))];`;
const NOTES = ['one', 'a', 'b', 'two'];
const RUN = ['run', 'p.ts', '--json'];
// One call at a time, so that system calls come in the same order in every run.
const CONFIG = 'trust.rules = ["deploy"]\ncode.parallel = 1\n';
const HOOK = fileURLToPath(new URL('../support/kill-engine.cjs', import.meta.url));
// Places at the same time.
const LANES = THOROUGH ? 3 : 1;
// The number of other writes and opens differs between runs, so it may take several to die at a certain one.
const ATTEMPTS = 40;

/** A place whose tools note that they ran; deploy needs approval. */
async function createPlace(): Promise<CrashPlace> {
  const place = createCrashPlace();
  const text = (name: string): string => `printf "%s" "$WIELD_PARAM_${name}"; echo "$WIELD_PARAM_${name}" >> notes`;
  place.write({
    'home/.wield/config.toml': CONFIG,
    'project/.agents/tools/note!': shellScript(text('TEXT'), '@param *text string Text'),
    'project/.agents/tools/deploy!': shellScript(text('BRANCH'), '@param *branch string Branch'),
    'project/p.ts': PROGRAM,
    'project/first.ts': 'return 1',
  });
  // Which sandboxes work here, and compiled code, which is saved in the first two runs.
  for (let run = 0; run < 2; run++) await place.runProcess('run', 'first.ts');
  return place;
}

const notesOf = ({ dir }: CrashPlace): string[] =>
  existsSync(join(dir, 'notes')) ? readFileSync(join(dir, 'notes'), 'utf8').trim().split('\n') : [];
const isStored = ({ home }: CrashPlace): boolean => {
  const directory = join(home, '.wield/programs');
  return existsSync(directory) && readdirSync(directory).some((name) => /\.(json|answer)$/.test(name));
};

interface Result {
  readonly error?: { readonly code: string; readonly message: string; readonly data?: { readonly resume?: string } };
  readonly structured?: {
    readonly value?: readonly string[];
    readonly calls: readonly { readonly tool: string; readonly ran: string }[];
  };
}

const resumeOf = (id: string): string[] => ['run', '--resume', id, '--json'];

async function approveAll(place: CrashPlace): Promise<void> {
  const { approvals } = json(await place.run('approvals', '--json'));
  for (const { id, state } of approvals) if (state === 'pending') await place.run('approvals', 'approve', id);
}

/** Suspends the program and approves its calls; returns its id. */
async function suspend(place: CrashPlace): Promise<string> {
  const { error } = json(await place.runProcess(...RUN)) as Result;
  await approveAll(place);
  return error!.data!.resume!;
}

/** Runs a command, approves what it asks for, and resumes until the program has ended. */
async function finish(place: CrashPlace, args: readonly string[]): Promise<Result> {
  for (let next = args, turn = 0; ; turn++) {
    const result = json(await place.run(...next)) as Result;
    const { code, data } = result.error ?? {};
    if (code !== 'needs_approval' || turn === 4) return result;
    await approveAll(place);
    next = resumeOf(data!.resume!);
  }
}

/** Returns what is wrong with the program after its process was killed and it was finished. */
async function findFailures(place: CrashPlace, next: readonly string[]): Promise<string[]> {
  const wasStored = isStored(place);
  const { error, structured } = await finish(place, next);
  const notes = notesOf(place);
  const { value = [] } = structured ?? {};
  return NOTES.flatMap((name, at) => {
    const times = notes.filter((note) => note === name).length;
    // What ran before the program was stored is not known to the next process.
    if (times > (wasStored || name !== 'one' ? 1 : 2)) return [`${name} ran ${times} times`];
    const isTold = value[at] === name ? times > 0 : value[at]?.includes('may have run') === true;
    return isTold ? [] : [`${name} ran ${times} times, told ${value[at]}`];
  }).concat(error === undefined ? [] : [`${error.code}: ${error.message}`]);
}

/** A step of the program, by what it does and how often that was done before. */
type Point = Step & { readonly key: string };

function toPoints(steps: readonly Step[]): Point[] {
  const counts = new Map<string, number>();
  return steps.flatMap((step) => {
    const what = step.what.replace(/\b[0-9a-f]{16}\b/g, 'ID');
    // Others, of the cache and the audit log, belong to every call.
    if (!/programs|approvals|clone/.test(what)) return [];
    const number = (counts.get(what) ?? 0) + 1;
    counts.set(what, number);
    return [{ ...step, key: `${what} #${number}` }];
  });
}

// Nothing happens between a directory and the file that is created in it, so that this is one point.
const isOwnPoint = ({ key }: Point): boolean => !/^openat .*\.tmp #/.test(key);

interface Killing {
  readonly place: CrashPlace;
  readonly args: readonly string[];
  /** Commands that continue, each tried after each point. */
  readonly ways: readonly (readonly string[])[];
  /** The id of the program if it is known before; files with it in their name have the same name in every run. */
  readonly id?: string;
}

interface Killed {
  readonly keys: readonly string[];
  readonly aims: readonly string[];
  readonly reached: ReadonlySet<string>;
  readonly failures: readonly string[];
  readonly runs: number;
}

/** Kills the command at each point, or at those of a lane, and finishes the program each time. */
async function killAtPoints({ place, args, ways, id }: Killing, lane: number): Promise<Killed> {
  place.save('start');
  const reference = toPoints((await traceSteps(place, args)).steps).filter(isOwnPoint);
  const aims = sample(reference, 1).filter((_, at) => at % LANES === lane);
  const reached = new Set<string>();
  const failures: string[] = [];
  let runs = 0;
  for (const aim of aims) {
    const isFile = id !== undefined && aim.file?.includes(id) === true;
    let number = isFile ? aim.ofFile : aim.when;
    for (let attempt = 0; attempt < ATTEMPTS && !reached.has(aim.key); attempt++) {
      runs++;
      await restore(place, 'start');
      const file = isFile ? aim.file : undefined;
      const { steps, diedAt } = await killAtCall(place, { call: aim.call, number, file }, args);
      const points = toPoints(steps);
      const died = diedAt === undefined ? undefined : points.find(({ when }) => when === diedAt.when);
      if (died !== undefined && isOwnPoint(died) && !reached.has(died.key)) {
        reached.add(died.key);
        await untilAlone(place);
        place.save('killed');
        for (const next of ways) {
          await restore(place, 'killed');
          for (const text of await findFailures(place, next))
            failures.push(`${died.key}, then ${next.join(' ')}: ${text}`);
        }
      }
      // Where it was in this run, or later if the run did not come to it.
      const came = points.find(({ key }) => key === aim.key);
      if (!isFile) number = came?.when ?? number + 1 + (attempt % 3);
    }
  }
  return { keys: reference.map(({ key }) => key), aims: aims.map(({ key }) => key), reached, failures, runs };
}

/** Waits for the tools that a killed process left: they may still note something. */
async function untilAlone({ dir, home }: CrashPlace): Promise<void> {
  while (processesWith(dir).length + processesWith(home).length > 0) await sleep(20);
}

async function restore(place: CrashPlace, name: string): Promise<void> {
  await untilAlone(place);
  place.restore(name);
}

/** Checks that every point was reached, and that nothing was wrong after any of them. */
function expectAllReached(lanes: readonly Killed[]): void {
  const [{ keys }] = lanes as [Killed];
  expect(keys.length).toBeGreaterThan(20);
  for (const lane of lanes) expect(lane.keys).toEqual(keys);
  const reached = new Set(lanes.flatMap((lane) => [...lane.reached]));
  const missed = lanes.flatMap(({ aims }) => aims.filter((key) => !reached.has(key)));
  const runs = lanes.reduce((sum, lane) => sum + lane.runs, 0);
  if (THOROUGH) process.stdout.write(`${reached.size} of ${keys.length} points in ${runs} runs\n`);
  expect(missed).toEqual([]);
  expect(lanes.flatMap(({ failures }) => failures)).toEqual([]);
}

async function inLanes(killIn: (place: CrashPlace, lane: number) => Promise<Killed>): Promise<Killed[]> {
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const place = await createPlace();
    return killIn(place, lane).finally(() => place.remove());
  });
  return Promise.all(lanes);
}

specIf(
  hasStrace && ALL_TESTS,
  hasStrace ? TAKES_LONG : NO_STRACE,
  'COD-11 COD-14',
  'a program that is suspended continues, or starts over if it was not stored yet',
  async () => {
    expectAllReached(await inLanes((place, lane) => killAtPoints({ place, args: RUN, ways: [RUN] }, lane)));
  },
  1_800_000,
);

specIf.thorough(
  hasStrace,
  NO_STRACE,
  'COD-11 COD-14',
  'a program that is resumed continues, or gives its answer, by id and by the same code',
  async () => {
    expectAllReached(
      await inLanes(async (place, lane) => {
        const id = await suspend(place);
        const args = resumeOf(id);
        const killed = await killAtPoints({ place, args, ways: [args, RUN], id }, lane);
        await restore(place, 'start');
        expect(json(await place.runProcess(...args))).toMatchObject({ ok: true });
        // It was delivered, so the same code is a new program; its id still gives the answer.
        expect(json(await place.run(...args)).structured).toMatchObject({
          value: NOTES,
          program: { ended: expect.any(Number) },
        });
        expect(json(await place.run(...RUN)).error.data.resume).not.toBe(id);
        return killed;
      }),
    );
  },
  1_800_000,
);

/** Runs a command whose engine is killed before a message; 0: not at all. Returns the number of messages too. */
async function runKilling(place: CrashPlace, args: readonly string[], at: number) {
  const counted = join(place.env.TMPDIR!, 'messages');
  const env = { NODE_OPTIONS: `--require "${HOOK}"`, KILL_ENGINE_AT: `${at}`, KILL_ENGINE_COUNT: counted };
  const result = json(await wieldProcess(place, args, { env })) as Result;
  return { result, messages: Number(readFileSync(counted, 'utf8')) };
}

/** Returns how the calls that a result names differ from those that ran. */
function compareCalls({ structured }: Result, ran: readonly string[]): string[] {
  const { calls = [] } = structured ?? {};
  return NOTES.flatMap((name, at) => {
    const times = ran.filter((note) => note === name).length;
    const told = calls[at]?.ran ?? 'no';
    const isTrue = told === 'ok' ? times === 1 : told === 'no' && times === 0;
    return isTrue ? [] : [`${name} ran ${times} times, told ${told}`];
  });
}

specIf(
  ALL_TESTS,
  TAKES_LONG,
  'COD-3 COD-11 COD-14',
  'a program whose engine is killed fails and names the calls that ran, or can be resumed if nothing had happened',
  async () => {
    const place = await createPlace();
    const found: string[] = [];
    try {
      for (const half of ['suspended', 'resumed']) {
        const args = half === 'suspended' ? RUN : resumeOf(await suspend(place));
        place.save(half);
        const { messages } = await runKilling(place, args, 0);
        expect(messages).toBeGreaterThan(6);
        for (let at = 1; at <= messages; at++) {
          await restore(place, half);
          const { result } = await runKilling(place, args, at);
          const report = (text: string): number => found.push(`${half}, message ${at}: ${text}`);
          const { code, data } = result.error ?? {};
          // All that was left of it had been delivered, or stored.
          if (code === undefined || code === 'needs_approval') {
            const end = code === undefined ? result : await finish(place, resumeOf(data!.resume!));
            expect(end.structured?.value, `${half}, message ${at}`).toEqual(NOTES);
          } else {
            if (code !== 'exec_failed') report(`${code}: ${result.error!.message}`);
            for (const text of compareCalls(result, notesOf(place))) report(text);
          }
          if (half === 'suspended') continue;
          const ran = notesOf(place);
          const again = json(await place.run(...args)) as Result;
          // Killed while it was restored: it has not begun.
          if (ran.length === 1) expect(again.structured?.value, `message ${at}`).toEqual(NOTES);
          else expect([again.error, notesOf(place)], `message ${at}`).toEqual([result.error, ran]);
        }
        place.restore(half);
      }
      expect(found).toEqual([]);
    } finally {
      place.remove();
    }
  },
  600_000,
);
