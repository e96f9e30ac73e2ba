// Every write of a file that is read and changed goes through the one lock and the one atomic write (STA-6).

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|\.d\.ts$|^ui\/page\//.test(file))
  .map((file) => [file, readFileSync(SOURCES + file, 'utf8')] as const);

// Why a durable write of a module needs no lock of its own.
const WITHOUT_LOCK: Readonly<Record<string, string>> = {
  'files/change.ts': 'holds the lock',
  'clients/config-file.ts': 'its callers hold the lock: withConfigLock',
  'clients/import.ts': 'keeps an existing file',
  'cli/add-document.ts': 'holds the lock: withFileLock',
  'cli/removed-files.ts': 'holds the lock: withLock',
  'cli/verbs/list-installed.ts': 'writes a file that its user named, without reading it',
  'cli/verbs/mcp/accept.ts': 'holds the lock of installs',
  'install/hooks.ts': 'holds the lock of installs',
  'install/lock-file.ts': 'holds the lock of installs',
  'install/servers.ts': 'holds the lock of installs',
  'install/state.ts': 'holds the lock of installs',
  'install/apply/commit.ts': 'holds the lock of installs',
  'install/sources/check.ts': 'writes into a copy that only its process has',
  'upstream/broker/main.ts': 'its starter holds the lock',
  'upstream/pins/start.ts': 'holds the lock of the package: withLock',
  'upstream/login/file.ts': 'its callers hold the lock of the login',
  'policy/approval-directory.ts': 'each record has its own file; answers hold the lock: createApprovalStore',
  'process/sandbox/filter.ts': 'the name is the hash of the contents',
  'process/sandbox/prepare.ts': 'what it writes does not depend on the file before',
  'process/sandbox/probe.ts': 'what it finds does not depend on the file before',
  'process/programs.ts': 'a hash of a program, which does not depend on the file before',
  'fleet/run-memory.ts': 'each call has its own file, written by the worker that runs it',
  'code/host/sealed.ts': 'its callers claimed the program',
  'extras/shipped-index.ts': 'writes what it computed, without reading the file',
  'builtin/capabilities.ts': 'a generated page; the last one counts',
};

const isDurable = (call: string): boolean => !/durable: false|keepExisting: true/.test(call);

test('a durable write is done under the lock, or its reason is listed', () => {
  const writing = files.flatMap(([file, text]) => {
    if (file === 'files/write.ts') return [];
    const calls = [...text.matchAll(/writeFileAtomic\(/g)].map(({ index }) => text.slice(index, index + 200));
    return calls.some(isDurable) ? [file] : [];
  });
  expect(writing.filter((file) => WITHOUT_LOCK[file] === undefined)).toEqual([]);
});

test('files are written by other functions only if they are new', () => {
  const others = files.flatMap(([file, text]) => {
    if (file.startsWith('files/')) return [];
    const calls = [...text.matchAll(/\b(?:writeFileSync|writeFile|appendFileSync|appendFile|createWriteStream)\(/g)];
    const replacing = calls.map(({ index }) => text.slice(index, index + 120)).filter((call) => !call.includes("'wx'"));
    return replacing.map((call) => `${file}: ${call.split('\n')[0]}`);
  });
  // In a temporary directory of its own, a file that only a probe reads, a copy of the audit log and a recording, which only
  // grow.
  const known = [
    'cli/add-document.ts: writeFileSync(path, bytes)',
    'process/sandbox/probe.ts: writeFileSync(canary',
    'state/audit-transports.ts: appendFile(last.toString()',
    'cli/verbs/recordings.ts: writeFileSync(descriptor, text)',
  ];
  expect(others.filter((one) => !known.some((start) => one.startsWith(start)))).toEqual([]);
});
