// The checks of `wield doctor`.

import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { toToolError } from '../../../core/error.js';
import { formatPosition, type Problem, problemOf } from '../../../core/problem.js';
import type { Settings } from '../../../core/settings.js';
import type { World } from '../../../core/snapshot.js';
import { count, formatDuration, quoteOutside, quoteWord } from '../../../core/text.js';
import type { NodeToolbox } from '../../../node.js';
import {
  findInterpreter,
  findLimiter,
  findProgram,
  pathOutside,
  SYSTEM_LIMITS,
  searchPath,
} from '../../../process/environment.js';
import { showsProcesses } from '../../../process/proc.js';
import { probeBackends } from '../../../process/sandbox/probe.js';
import { findRemovedLinks } from '../../../process/sandbox/secrets.js';
import { readVersion } from '../../../process/sandbox/try-launcher.js';
import { findMarker } from '../../../process/tool-mark.js';
import type { HealthCheck } from '../../../ui/api.js';
import { type BrokerOptions, findObstacle } from '../../../upstream/broker/address.js';
import { findRefusal } from '../../../upstream/broker/admin.js';
import { readVersion as readOwnVersion } from '../../../workspace/machine.js';
import { commandProblems } from '../../commands.js';
import { shortPath } from '../../print.js';
import { describeDistrust } from '../../runnable.js';
import { checkNetwork, checkRequirements, checkSecrets, checkTelemetry } from './facts.js';
import { allRules, offerProblems, ruleProblems, sandboxProblems } from './rules.js';

const SHIM = /\/(?:\.pyenv|\.rbenv|\.nodenv|\.asdf|\.local\/share\/mise|\.volta)\/|\/shims\//;

/** Runs all checks. */
export async function runDoctor(toolbox: NodeToolbox, reserved: ReadonlySet<string>) {
  const survey = await toolbox.catalog.survey();
  const { policy, settings } = toolbox.state.snapshot();
  const configuration = toolbox.state.configuration();
  const rules = allRules(policy, configuration.profiles.values());
  const requirements = await checkRequirements(toolbox, survey);
  const ofSurvey = [
    ...commandProblems(survey, reserved),
    ...ruleProblems(rules, survey, settings.view, policy),
    ...offerProblems(configuration, survey),
    ...sandboxProblems(toolbox, configuration, survey),
    ...requirements.problems,
  ];
  const failed: Problem[] = [];
  // A check that fails is a problem; the others are still made (CLI-14).
  const attempt = async <T>(checks: readonly ((toolbox: NodeToolbox) => readonly T[] | Promise<readonly T[]>)[]) => {
    const found: T[] = [];
    for (const check of checks) {
      try {
        found.push(...(await check(toolbox)));
      } catch (thrown) {
        const { code, message, hint = '', data } = toToolError(thrown);
        if (code === 'internal') throw thrown;
        failed.push({ severity: 'error', path: String(data?.path ?? toolbox.machine.wieldHome), message, hint });
      }
    }
    return found;
  };
  const facts = await attempt([checkMachine, checkNetwork, checkSecrets, checkTelemetry]);
  const found = await attempt([
    ({ catalog }) => catalog.problems(),
    ...[auditProblems, interpreterProblems, trustProblems, approvalProblems],
    ...[installProblems, serverProblems, linkProblems],
  ]);
  const all = [...found, ...failed, ...ofSurvey];
  const problems = all.filter((problem) => problem.severity === 'error');
  const warnings = all.filter((problem) => problem.severity === 'warning');
  const show =
    (level: 'warning' | 'problem') =>
    (problem: Problem): HealthCheck => {
      const { path, message, hint } = problem;
      return { level, about: formatPosition(shortPath(path, toolbox), problem), message, hint };
    };
  const tools = await toolbox.list();
  const { workdir } = toolbox.workspace;
  return {
    checks: [
      ...facts,
      toCheck('ok', 'tools', `${count(tools.length, 'tool')} in ${shortPath(workdir, toolbox)}`),
      ...requirements.checks,
      ...warnings.map(show('warning')),
      ...problems.map(show('problem')),
    ],
    problems,
    warnings,
  };
}

// The built-in profiles have no network.
const ONLINE_ONLY =
  'only profiles with network = true are enforced; read-only, workdir and no-network need bubblewrap, since it cannot separate the network';

async function checkMachine(toolbox: NodeToolbox): Promise<HealthCheck[]> {
  const { machine, state, workspace } = toolbox;
  const { world, wieldHome } = machine;
  const { trusted, workdir } = workspace;
  const git = findProgram('git', searchPath(world));
  const found = git && ((await readVersion(git, world)) ?? git);
  const backends = await probeBackends(world, wieldHome, workdir, { isFresh: true });
  return [
    toCheck('ok', 'node', process.versions.node),
    found === undefined
      ? toCheck('absent', 'git', 'not installed (needed for git sources)')
      : toCheck('ok', 'git', found),
    ...backends.map(({ backend, version, fault, remedy, network }) => {
      const enforced = `all sandbox profiles ${backend === 'bubblewrap' ? '' : 'without a list of hosts '}are enforced`;
      const message = fault ?? `${version ?? 'works'}: ${network === null ? ONLINE_ONLY : enforced}`;
      return toCheck(fault === null ? 'ok' : 'absent', backend, message, remedy ?? undefined);
    }),
    checkLimits(state.configuration().settings.limits, world, workdir),
    ...checkConsent(world),
    await checkBroker(state.snapshot().settings.broker, { wieldHome, world, version: readOwnVersion() }),
    toCheck(
      'ok',
      'trust',
      trusted ? 'this workspace is trusted' : `${describeDistrust(toolbox)}: models cannot call its tools`,
    ),
  ];
}

function checkLimits(limits: Settings['limits'], world: World, workdir: string): HealthCheck {
  const set = SYSTEM_LIMITS.filter((name) => limits[name] !== undefined);
  if (set.length === 0) return toCheck('ok', 'limits', 'time and output only');
  const names = set.join(', ');
  const { platform } = world;
  if (findLimiter(platform, pathOutside(workdir, world)) !== undefined)
    return toCheck('ok', 'limits', `enforced: ${names}`);
  const [why, hint] =
    platform === 'linux'
      ? ['prlimit not found', 'install util-linux']
      : ['only Linux has them', 'remove them from limits, or run wield on Linux'];
  return toCheck('warning', 'limits', `${names} configured but not enforced: ${why}`, hint);
}

function checkConsent(world: World): HealthCheck[] {
  const isLinux = world.platform === 'linux';
  if (isLinux && !showsProcesses()) {
    const message =
      '/proc is not mounted, so nobody can be told from a tool: trust and approvals given here do not count';
    return [toCheck('warning', 'consent', message, 'mount it: mount -t proc proc /proc')];
  }
  if (findMarker(world) !== undefined) return [];
  const by = isLinux ? ' and ancestors only: prlimit not found' : ' only';
  const message = `processes of tools are recognised by their environment${by}`;
  return [toCheck('absent', 'consent', message, isLinux ? 'install util-linux' : undefined)];
}

async function checkBroker(setting: boolean | undefined, options: BrokerOptions): Promise<HealthCheck> {
  const obstacle = findObstacle(setting, options);
  if (obstacle !== undefined) return toCheck('absent', 'broker', `each session starts its own servers: ${obstacle}`);
  const refusal = await findRefusal(options);
  if (refusal === undefined) return toCheck('ok', 'broker', 'all sessions share local servers');
  return toCheck('warning', 'broker', `each session starts its own servers: ${refusal}`, 'run: wield mcp stop');
}

function auditProblems({ state: { audit } }: NodeToolbox): Problem[] {
  const message = audit.findFault();
  if (message === undefined) return [];
  const hint = 'free disk space or fix the permissions; until then calls that must be recorded are refused';
  return [{ severity: 'error', path: audit.directory, message, hint }];
}

// Scripts without an interpreter are listed, so this is where that is reported.
async function interpreterProblems(toolbox: NodeToolbox): Promise<Problem[]> {
  const { world } = toolbox.machine;
  const path = searchPath(world);
  const times = new Map<string, string>();
  const startTime = async (program: string): Promise<string> => {
    const began = performance.now();
    if (!times.has(program)) await readVersion(program, world);
    const time = times.get(program) ?? formatDuration(Math.round(performance.now() - began));
    times.set(program, time);
    return time;
  };
  const problems: Problem[] = [];
  for (const { action } of await toolbox.list({ hidden: true })) {
    if (action.kind !== 'process' || action.runs !== 'script' || action.shebang === '') continue;
    try {
      const interpreter = findInterpreter(action.shebang, action.file, path);
      if (SHIM.test(interpreter)) {
        const message = `${basename(interpreter)} is a version manager's shim (${await startTime(interpreter)} a start)`;
        problems.push(warn(action.file, message, 'write its real path instead'));
      }
    } catch (error) {
      problems.push(problemOf(error, action.file));
    }
  }
  return problems;
}

// A record that cannot be read trusts nothing.
function trustProblems({ state: { trust }, machine: { wieldHome } }: NodeToolbox): Problem[] {
  try {
    trust.list();
    return [];
  } catch (error) {
    const path = join(wieldHome, 'trust.json');
    const problem = problemOf(error, path);
    return [{ ...problem, message: problem.message.replace(`${path} `, '') }];
  }
}

async function approvalProblems(toolbox: NodeToolbox): Promise<Problem[]> {
  const store = toolbox.state.approvals;
  const directory = join(toolbox.machine.wieldHome, 'approvals');
  try {
    const waiting = store.list().filter(({ state }) => state === 'pending').length;
    const problems = store
      .stale()
      .filter(({ reason }) => reason === 'unreadable')
      .map(({ path }) => warn(path, 'damaged or modified, so it is ignored', 'wield doctor --clean removes it'));
    if (waiting === 0) return problems;
    return [
      warn(directory, `${count(waiting, 'call')} waiting for your approval`, 'wield approvals shows them'),
      ...problems,
    ];
  } catch (error) {
    return [problemOf(error, directory)];
  }
}

// EXE-80: who removed the link, a person or a sandboxed tool, is not known.
function linkProblems({ machine, workspace: { workdir } }: NodeToolbox): Problem[] {
  return findRemovedLinks(workdir, machine).map(({ path, real, file }) => {
    const message = `hidden in sandboxes, because the removed link ${quoteOutside(path)} led there`;
    return warn(real, message, `if it contains no secrets, show it again: rm ${quoteWord(file!)}`);
  });
}

// Problems with a server itself are in the catalog; changed tools wait for approval.
function serverProblems({ state: { upstreams } }: NodeToolbox): Problem[] {
  return upstreams
    .states()
    .filter(({ changed }) => changed.length > 0)
    .map(({ server: { name, position }, changed }) => {
      const which = changed.length > 3 ? count(changed.length, 'tool') : changed.join(', ');
      const message = `the server ${name} changed ${which} since approval`;
      return warn(position.file, message, `review and accept: wield mcp accept ${name}`);
    });
}

// Loaded only if something was installed.
async function installProblems(toolbox: NodeToolbox): Promise<Problem[]> {
  const isFile = (name: string): boolean => existsSync(join(toolbox.machine.wieldHome, name));
  if (!['sources.json', 'installed.json'].some(isFile)) return [];
  const { findInstallProblems } = await import('../../../install/compare.js');
  return findInstallProblems(toolbox);
}

function toCheck(level: HealthCheck['level'], about: string, message: string, hint?: string): HealthCheck {
  return { level, about, message, hint };
}

function warn(path: string, message: string, hint: string): Problem {
  return { severity: 'warning', path, message, hint };
}
