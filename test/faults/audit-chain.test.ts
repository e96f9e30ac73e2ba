// Faults of the chains of the audit log: edits of its files, killed and failing writers, rotation.

import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished } from 'vitest';
import { createAuditLog } from '../../src/audit/log.js';
import { verifyLog } from '../../src/audit/verify.js';
import { built } from '../support/built.js';
import { rounds } from '../support/effort.js';
import { spec } from '../support/spec.js';

const SIZES = { rotateBytes: 1 << 30, keep: 5 };
const EDITS = rounds(300, 10_000);
const KILLS = rounds(6, 1000);

function createDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'wield-chain-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const lineOf = (name: string): string => `${JSON.stringify({ time: '2026-11-18T00:00:00.000Z', tool: name })}\n`;

/** A log of some processes (each `createAuditLog` has a chain of its own), in several files. */
function writeLog(directory: string, sizes = { rotateBytes: 1500, keep: 100 }): void {
  const logs = [1, 2, 3].map(() => createAuditLog(directory));
  for (let at = 0; at < 40; at++) logs[(at * at) % 3]!.append(lineOf(`tool_${at}`), sizes);
  for (const log of logs) log.close();
}

/** A generator of numbers below a limit, the same for a seed. */
function createRandom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % limit;
  };
}

/** Makes one random edit of the files; returns what it did. */
function edit(directory: string, random: (limit: number) => number): string {
  const files = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  const name = files[random(files.length)]!;
  const path = join(directory, name);
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n').slice(0, -1);
  const at = random(lines.length);
  const write = (edited: readonly string[]): void => writeFileSync(path, edited.map((line) => `${line}\n`).join(''));
  const other = readFileSync(join(directory, files[random(files.length)]!), 'utf8').split('\n')[0]!;
  switch (random(9)) {
    case 0: {
      const place = random(text.length);
      const byte = text[place] === 'x' ? 'y' : 'x';
      writeFileSync(path, `${text.slice(0, place)}${byte}${text.slice(place + 1)}`);
      return `${name}: byte ${place} changed`;
    }
    case 1:
      write(lines.toSpliced(at, 1));
      return `${name}: line ${at + 1} dropped`;
    case 2: {
      const to = random(lines.length);
      if (to === at) return edit(directory, random);
      const swapped = [...lines];
      [swapped[at], swapped[to]] = [lines[to]!, lines[at]!];
      write(swapped);
      return `${name}: lines ${at + 1} and ${to + 1} swapped`;
    }
    case 3:
      write(lines.toSpliced(at, 0, lines[random(lines.length)]!));
      return `${name}: a line repeated before ${at + 1}`;
    case 4:
      write(lines.toSpliced(random(lines.length + 1), 0, lineOf('forged').trimEnd()));
      return `${name}: a line forged`;
    case 5:
      write(lines.toSpliced(random(lines.length + 1), 0, files.length > 1 && !lines.includes(other) ? other : ''));
      return `${name}: a line of another file inserted, or an empty one`;
    case 6:
      write(lines.slice(0, at));
      return `${name}: cut before line ${at + 1}`;
    case 7: {
      const length = 1 + random(text.length - 1);
      writeFileSync(path, text.slice(0, text.length - length));
      return `${name}: ${length} bytes cut off`;
    }
    default:
      unlinkSync(path);
      return `${name}: removed`;
  }
}

describe('edits', () => {
  spec('OBS-10', `${EDITS} random edits are all found`, () => {
    const original = createDirectory();
    writeLog(original);
    expect(verifyLog(original).problems).toEqual([]);
    expect(verifyLog(original)).toMatchObject({ lines: 40, partial: 0, open: [] });
    const directory = createDirectory();
    const random = createRandom(7);
    const missed: string[] = [];
    for (let round = 0; round < EDITS; round++) {
      cpSync(original, directory, { recursive: true });
      const what = edit(directory, random);
      if (verifyLog(directory).problems.length === 0) missed.push(what);
    }
    expect(missed).toEqual([]);
  });

  spec('OBS-10', 'the first changed, dropped, swapped, inserted or cut off line is named', () => {
    const original = createDirectory();
    const log = createAuditLog(original);
    for (let at = 1; at <= 9; at++) log.append(lineOf(`tool_${at}`), SIZES);
    log.close();
    const path = join(original, '000001.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    const firstOf = (edited: readonly string[]): unknown => {
      writeFileSync(path, edited.map((line) => `${line}\n`).join(''));
      const { line, kind } = verifyLog(original).problems[0] ?? {};
      return [line, kind];
    };
    expect(firstOf(lines.with(4, lines[4]!.replace('tool_5', 'tool_X')))).toEqual([5, 'changed']);
    expect(firstOf(lines.with(8, lines[8]!.replace('tool_9', 'tool_X')))).toEqual([9, 'changed']);
    expect(firstOf(lines.with(0, lines[0]!.replace('tool_1', 'tool_X')))).toEqual([1, 'changed']);
    expect(firstOf(lines.toSpliced(4, 1))).toEqual([5, 'missing']);
    expect(firstOf(lines.with(4, lines[5]!).with(5, lines[4]!))).toEqual([5, 'missing']);
    expect(firstOf(lines.toSpliced(4, 0, lineOf('forged').trimEnd()))).toEqual([5, 'inserted']);
    const forged = JSON.stringify({ ...JSON.parse(lines[0]!), chain: '1.forged' });
    expect(firstOf(lines.toSpliced(4, 0, forged))).toEqual([5, 'inserted']);
    expect(firstOf(lines.toSpliced(4, 0, lines[1]!))).toEqual([5, 'moved']);
    expect(firstOf(lines.slice(0, 7))).toEqual([8, 'truncated']);
    expect(firstOf(lines)).toEqual([undefined, undefined]);
  });

  spec('OBS-10', 'lines of two processes that were swapped are found', () => {
    const directory = createDirectory();
    const [a, b] = [createAuditLog(directory), createAuditLog(directory)];
    for (const log of [a, b, a, b]) log!.append(lineOf('tool'), SIZES);
    for (const log of [a, b]) log!.close();
    const path = join(directory, '000001.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n');
    [lines[1], lines[2]] = [lines[2]!, lines[1]!];
    writeFileSync(path, lines.join('\n'));
    expect(verifyLog(directory).problems[0]).toMatchObject({ line: 2, kind: 'missing' });
  });

  spec('OBS-10', 'files that were replaced, exchanged, repeated or removed as if they were old are found', () => {
    const original = createDirectory();
    writeLog(original);
    const edits: Record<string, (move: (from: string, to: string) => void, directory: string) => void> = {
      replaced: (copy) => copy('000001', '000003'),
      repeated: (copy) => copy('000001', '000099'),
      exchanged(copy) {
        copy('000001', 'x');
        copy('000002', '000001');
        copy('x', '000002');
      },
      'removed as if they were old'(_, directory) {
        appendFileSync(join(directory, '000004.chains'), '{"pruned":3}\n');
        for (const name of ['000001', '000002', '000003'])
          for (const kind of ['jsonl', 'chains']) rmSync(join(directory, `${name}.${kind}`), { force: true });
      },
    };
    for (const [what, change] of Object.entries(edits)) {
      const directory = createDirectory();
      cpSync(original, directory, { recursive: true });
      const copy = (from: string, to: string): void => {
        for (const kind of ['jsonl', 'chains'])
          cpSync(join(directory, `${from}.${kind}`), join(directory, `${to}.${kind}`));
      };
      change(copy, directory);
      expect(verifyLog(directory).problems, what).not.toEqual([]);
    }
    const directory = createDirectory();
    cpSync(original, directory, { recursive: true });
    cpSync(join(directory, '000001.jsonl'), join(directory, '0000001.jsonl'));
    expect(verifyLog(directory)).toMatchObject({ lines: 40, problems: [] });
  });

  spec('OBS-10', 'removed and pruned files are told apart', () => {
    const directory = createDirectory();
    writeLog(directory, { rotateBytes: 1500, keep: 2 });
    expect(readdirSync(directory).filter((name) => name.endsWith('.jsonl')).length).toBeLessThan(5);
    expect(verifyLog(directory).problems).toEqual([]);
    const names = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
    for (const suffix of ['.jsonl', '.chains'])
      rmSync(join(directory, names.at(-1)!.replace('.jsonl', suffix)), { force: true });
    expect(verifyLog(directory).problems).toContainEqual(
      expect.objectContaining({ file: names.at(-1), line: null, kind: 'removed' }),
    );
  });
});

describe('crashes', () => {
  spec('OBS-10', 'a partial line of a killed process is a crash, and without one it is not', () => {
    const directory = createDirectory();
    const [killed, other] = [createAuditLog(directory), createAuditLog(directory)];
    const path = join(directory, '000001.jsonl');
    killed.append(lineOf('one'), SIZES);
    appendFileSync(path, lineOf('two').slice(0, 20));
    other.append(lineOf('three'), SIZES);
    expect(verifyLog(directory)).toMatchObject({ lines: 2, partial: 1, problems: [] });
    for (const log of [killed, other]) log.close();
    expect(verifyLog(directory).problems).toMatchObject([{ kind: 'truncated', line: 2 }]);
  });

  spec('OBS-10', 'a line that another process sees while it is written raises no alarm', () => {
    const directory = createDirectory();
    const [slow, other] = [createAuditLog(directory), createAuditLog(directory)];
    const path = join(directory, '000001.jsonl');
    slow.append(lineOf('one'), SIZES);
    const whole = readFileSync(path, 'utf8');
    const seen = whole.slice(0, -20);
    writeFileSync(path, seen);
    other.append(lineOf('two'), SIZES);
    const next = readFileSync(path, 'utf8').slice(seen.length);
    for (const log of [slow, other]) log.close();
    writeFileSync(path, whole + next);
    expect(verifyLog(directory)).toMatchObject({ lines: 2, partial: 0, problems: [] });
    for (const edited of [`${whole}\n${next}`, `\n${whole}${next}`, `${whole}${next}\n`]) {
      writeFileSync(path, edited);
      expect(verifyLog(directory).problems, JSON.stringify(edited)).not.toEqual([]);
    }
  });

  spec(
    'OBS-10',
    `${KILLS} kills of three writers that rotate raise no alarm`,
    async () => {
      const directory = createDirectory();
      const program = `
      const { createAuditLog } = await import(${JSON.stringify(pathToFileURL(built('audit/log.js')).href)});
      const log = createAuditLog(${JSON.stringify(directory)});
      const line = JSON.stringify({ time: '2026-11-18T00:00:00.000Z', tool: 'x'.repeat(2000) }) + '\\n';
      process.stdout.write('ready');
      for (;;) log.append(line, { rotateBytes: 1_000_000, keep: 3 });`;
      const random = createRandom(11);
      for (let round = 0; round < KILLS; round += 3) {
        const children = [1, 2, 3].map(() => spawn(process.execPath, ['--input-type=module', '-e', program]));
        const ended = children.map((child) => new Promise((resolve) => child.once('close', resolve)));
        await Promise.all(children.map((child) => new Promise((resolve) => child.stdout.once('data', resolve))));
        for (const child of children) {
          await new Promise((resolve) => setTimeout(resolve, random(40)));
          child.kill('SIGKILL');
        }
        await Promise.all(ended);
        const { problems, lines } = verifyLog(directory);
        expect(problems).toEqual([]);
        expect(lines).toBeGreaterThan(0);
      }
    },
    1_200_000,
  );
});
