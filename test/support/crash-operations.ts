// The operations that are interrupted at each of their system calls.

import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEPLOY } from './approvals.js';
import { type CrashPlace, createCrashPlace } from './crash-place.js';
import type { Operation } from './crash-points.js';
import type { Files } from './install.js';
import { injectAt, traceSteps } from './strace.js';

const SERVER = fileURLToPath(new URL('upstream-server.mjs', import.meta.url));
const INSTALLED = [['list', '--installed', '--json']];
const CALLED = [...INSTALLED, ['call', 'detect']];
const APPROVALS = [['approvals', 'list', '--json']];
const DOCUMENTS = [
  ['context', 'tree'],
  ['context', 'read', 'notes/day.md'],
  ['context', 'search', 'budget'],
];

/** A source with a tool that prints its version, and skills that refer to it. */
function source(version: string, more: Files = {}): Files {
  return {
    'sources/kit/tools/detect/TOOL.md': '---\ndescription: Detect.\nbin: detect.sh\n---\n',
    'sources/kit/tools/detect/detect.sh!': `#!/bin/sh\n# @description Detect.\necho ${version}\n`,
    'sources/kit/skills/scan/SKILL.md': `---\nname: scan\ndescription: S.\n---\n{{tools:detect}} ${version}\n`,
    ...more,
  };
}

const HOOKS: Files = {
  'sources/kit/tools/detect/TOOL.md':
    '---\ndescription: Detect.\nbin: detect.sh\nbuild: echo built > built\ninstall: echo installed > installed\n---\n',
};

async function must(place: CrashPlace, ...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await place.run(...args);
  if (status !== 0) throw new Error(`wield ${args.join(' ')}: ${status} ${stdout}${stderr}`);
  return stdout;
}

async function add(place: CrashPlace, files: Files, ...flags: readonly string[]): Promise<void> {
  place.write(files);
  await must(place, 'add', join(place.dir, '../sources/kit'), ...flags);
}

async function prepareUpgrade(place: CrashPlace): Promise<void> {
  await add(place, source('v0'), '--yes');
  place.write(source('v1', { 'sources/kit/skills/scan/more.md': 'More.\n' }));
}

/** Leaves the state of a command that was killed at the first step whose description matches. */
async function killAt(place: CrashPlace, pattern: RegExp, args: readonly string[]): Promise<void> {
  place.save('whole');
  const { steps } = await traceSteps(place, args);
  const step = steps.find(({ what }) => pattern.test(what));
  if (step === undefined) throw new Error(`no step ${pattern}`);
  place.restore('whole');
  if (!(await injectAt(place, step, 'KILL', args)).hit) throw new Error(`not killed at ${step.what}`);
}

const recovery = (name: string, args: readonly string[], pattern: RegExp): Operation => ({
  name: `recovery of ${name}`,
  args: ['list', '--installed'],
  observe: CALLED,
  async prepare(place) {
    await prepareUpgrade(place);
    await killAt(place, pattern, args);
  },
});

const INSTALLING: readonly Operation[] = [
  {
    name: 'add',
    args: ['add', '../sources/kit'],
    observe: [['list', '--available', '--json']],
    prepare: async (place) => place.write(source('v0')),
  },
  {
    name: 'install',
    args: ['install', '--all', '--yes'],
    observe: INSTALLED,
    prepare: (place) => add(place, source('v0')),
  },
  {
    name: 'install with hooks',
    args: ['install', 'detect', '--yes', '--run-hooks'],
    observe: INSTALLED,
    prepare: (place) => add(place, source('v0', HOOKS)),
    // The consent is kept if the installation fails.
    also: (old, next) => [new Map([...old, ...[...next].filter(([path]) => path.endsWith('hooks.json'))])],
  },
  {
    name: 'install over a file',
    args: ['install', 'scan', '--force', '--yes'],
    observe: INSTALLED,
    async prepare(place) {
      await add(place, source('v0'));
      place.write({ 'home/.claude/skills/scan/SKILL.md': 'Mine.\n' });
    },
  },
  { name: 'upgrade', args: ['upgrade', '--yes'], observe: CALLED, prepare: prepareUpgrade },
  {
    name: 'uninstall',
    args: ['uninstall', 'scan', '--yes'],
    observe: INSTALLED,
    prepare: (place) => add(place, source('v0'), '--yes'),
  },
  {
    name: 'remove-source',
    args: ['remove-source', 'kit', '--yes'],
    observe: [...INSTALLED, ['list', '--available', '--json']],
    prepare: (place) => add(place, source('v0'), '--yes'),
    // Its items are uninstalled first, in a change of their own.
    also: (old, next) => [new Map([...next, ...[...old].filter(([path]) => path.endsWith('sources.json'))])],
  },
  {
    name: 'accept local changes',
    args: ['install', '--yes', 'detect', '--accept'],
    observe: INSTALLED,
    async prepare(place) {
      await add(place, source('v0'), '--yes');
      place.write({ 'home/.wield/store/tool/detect/note.md': 'Mine.\n' });
    },
  },
];

const SERVERS: readonly Operation[] = [
  {
    name: 'add a server',
    args: ['mcp', 'add', '--yes', 'docs', '--', 'node', 'server.mjs'],
    observe: [],
    prepare: async (place) => place.write({ 'home/.agents/mcp.json': '{ "mcpServers": {} }\n' }),
  },
];

const RECOVERING: readonly Operation[] = [
  recovery('an upgrade', ['upgrade', '--yes'], /^rename .*installed\.json$/),
  recovery('a finished upgrade', ['upgrade', '--yes'], /^unlink .*install\.journal$/),
  recovery('an uninstall', ['uninstall', 'scan', 'detect', '--yes'], /^rename .*installed\.json$/),
];

async function prepareAsking(place: CrashPlace, approved: boolean): Promise<void> {
  place.write({
    'project/.agents/tools/deploy!': DEPLOY,
    'home/.wield/config.toml': '[trust]\nrules = "deploy"\n',
  });
  // Creates the key that ids depend on.
  await place.run('call', 'deploy', '--branch', 'other');
  if (!approved) return;
  await must(place, 'approvals', 'approve', await ask(place));
}

async function ask(place: CrashPlace): Promise<string> {
  const { stdout } = await place.run(...CALL, '--json');
  return JSON.parse(stdout).error.data.id;
}

const CALL = ['call', 'deploy', '--branch', 'main'];

/** Answers the pending call. */
function answering(name: string, ...answer: readonly string[]): Operation {
  return {
    name,
    args: ['approvals', ...answer],
    observe: APPROVALS,
    prepare: (place) => prepareAsking(place, false),
    moreArgs: async (place) => [await ask(place)],
  };
}

const APPROVING: readonly Operation[] = [
  { name: 'ask for approval', args: CALL, observe: APPROVALS, prepare: (place) => prepareAsking(place, false) },
  answering('approve', 'approve'),
  {
    ...answering('approve always', 'approve', '--always'),
    // Still listed as pending, while the standing approval is in force.
    also: (old, next) => [
      new Map([...old, ...next]),
      new Map([...old, ...[...next].filter(([path]) => path.includes('.standing'))]),
    ],
  },
  answering('deny', 'deny'),
  {
    name: 'use an approval',
    args: CALL,
    observe: APPROVALS,
    prepare: (place) => prepareAsking(place, true),
    // Used up, and not run.
    also: (_, next) => [new Map([...next].filter(([path]) => path !== 'project/ran'))],
  },
];

async function prepareServer(place: CrashPlace): Promise<void> {
  const tools = join(place.home, 'tools.json');
  const list = (description: string) =>
    JSON.stringify([{ name: 'find', description, inputSchema: { type: 'object' } }]);
  const server = { command: process.execPath, args: [SERVER, 'changing', '/dev/null', tools] };
  place.write({
    'home/.agents/mcp.json': JSON.stringify({ mcpServers: { docs: server } }),
    'home/tools.json': list('Find.'),
  });
  await must(place, 'mcp', 'refresh');
  place.write({ 'home/tools.json': list('Find more.') });
  await must(place, 'mcp', 'refresh');
}

const CONSENT: readonly Operation[] = [
  {
    name: 'accept a changed tool',
    args: ['mcp', 'accept', 'docs', '--yes'],
    observe: [['list', '--json']],
    prepare: prepareServer,
  },
  {
    name: 'trust',
    args: ['trust', '--yes'],
    observe: [['trust', '--list', '--json']],
    prepare: async (place) => place.write({ 'project/.agents/tools/deploy!': DEPLOY }),
  },
  {
    name: 'revoke trust',
    args: ['trust', '--revoke'],
    observe: [['trust', '--list', '--json']],
    async prepare(place) {
      place.write({ 'project/.agents/tools/deploy!': DEPLOY });
      await must(place, 'trust', '--yes');
    },
  },
];

const HELLO = { 'project/.agents/tools/hello!': '#!/bin/sh\n# @description Hello.\necho hello\n' };
const BIG = { 'project/.agents/tools/big!': '#!/bin/sh\n# @description Big.\nseq 1 20000\n' };

const RECORDS: readonly Operation[] = [
  {
    name: 'first record in the audit log',
    args: ['call', 'hello'],
    observe: [],
    prepare: async (place) => place.write(HELLO),
  },
  {
    name: 'required record in the audit log',
    args: ['call', 'hello'],
    observe: [],
    async prepare(place) {
      place.write({ ...HELLO, 'home/.wield/config.toml': '[audit]\nrequired = true\n' });
      await must(place, 'call', 'hello');
    },
  },
  {
    name: 'rotation of the audit log',
    args: ['call', 'hello'],
    observe: [],
    async prepare(place) {
      place.write({ ...HELLO, 'home/.wield/config.toml': '[audit]\nrotate = "1KiB"\nkeep = 3\n' });
      for (let at = 0; at < 4; at++) await must(place, 'call', 'hello');
    },
  },
  { name: 'stored result', args: ['call', 'big'], observe: [], prepare: async (place) => place.write(BIG) },
];

const write = (text: string, ...flags: string[]) => ['context', 'write', 'notes/day.md', text, ...flags];

const CONTEXT: readonly Operation[] = [
  {
    name: 'first document',
    args: write('The budget.'),
    observe: DOCUMENTS,
    prepare: async (place) => place.write(HELLO),
  },
  {
    name: 'changed document',
    args: write('Another budget.', '--on-conflict', 'overwrite'),
    observe: DOCUMENTS,
    prepare: async (place) => void (await must(place, ...write('The budget.'))),
  },
  {
    name: 'removed document',
    args: ['context', 'delete', 'notes/day.md'],
    observe: DOCUMENTS,
    prepare: async (place) => void (await must(place, ...write('The budget.'))),
  },
];

const YESTERDAY = Date.now() / 1000 - 25 * 3600;

/** Things to remove, and things to keep. */
async function prepareClean(place: CrashPlace): Promise<void> {
  await add(place, source('v0'), '--yes');
  await prepareAsking(place, true);
  place.write({ ...BIG, 'home/.wield/config.toml': '[trust]\nrules = "deploy"\n[results]\nkeep = "1h"\n' });
  await must(place, ...write('The budget.'));
  await must(place, 'call', 'big');
  place.write({
    'home/.wield/approvals/0000000000000000.pending.json': '{}',
    'home/.wield/.wield-999999-1-0123456789abcdef01.tmp': 'left',
    'home/.wield/objects/0123456789abcdef-unused/file': 'left',
    'home/.wield/objects/.staging-0123456789abcdef01/0/file': 'left',
    'home/.wield/install.lock/try-999999-1-0123456789ab': '',
  });
  const projects = join(place.home, '.wield');
  for (const name of readdirSync(projects, { recursive: true, encoding: 'utf8' }))
    if (/(?:^|\/)r_[^/]*$/.test(name) && existsSync(join(projects, name)))
      utimesSync(join(projects, name), YESTERDAY, YESTERDAY);
}

const CLEANING: readonly Operation[] = [
  {
    name: 'clean',
    args: ['clean'],
    observe: [...INSTALLED, ...APPROVALS, ...DOCUMENTS],
    prepare: prepareClean,
    removes: true,
  },
];

export const GROUPS = {
  installing: INSTALLING,
  servers: SERVERS,
  recovering: RECOVERING,
  cleaning: CLEANING,
  context: CONTEXT,
  approving: APPROVING,
  consent: CONSENT,
  records: RECORDS,
};

export const OPERATIONS: readonly Operation[] = Object.values(GROUPS).flat();

/** Installs items of one source in this many processes at once, and returns what went wrong. @public for scripts/crash-points.mjs */
export async function installInParallel(count: number): Promise<string[]> {
  const place = createCrashPlace();
  try {
    const names = Array.from({ length: count }, (_, at) => `s${at}`);
    const toSkill = (name: string) => `---\nname: ${name}\ndescription: S.\n---\n`;
    await add(place, Object.fromEntries(names.map((name) => [`sources/kit/skills/${name}/SKILL.md`, toSkill(name)])));
    const runs = await Promise.all(names.map((name) => place.run('install', '--yes', name)));
    const failures = runs.flatMap(({ status, stderr }, at) =>
      status === 0 ? [] : [`install ${names[at]}: ${status} ${stderr.trim()}`],
    );
    const { items } = JSON.parse(await must(place, 'list', '--installed', '--json'));
    if (items.length !== count) failures.push(`${items.length} of ${count} items are installed`);
    const { status, stdout } = await place.run('verify');
    if (status !== 0) failures.push(`verify: ${status} ${stdout.slice(0, 400)}`);
    if (existsSync(join(place.home, '.wield/install.lock'))) failures.push('the lock is left over');
    return failures;
  } finally {
    place.remove();
  }
}
