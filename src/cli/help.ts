// The texts of `wield` and `wield --help`.

import { VERBS, type VerbEntry, type VerbGroup } from './verbs.js';

const FIRST = ['init', 'list', 'call', 'serve', 'doctor'];
const GROUPS: Readonly<Record<VerbGroup, string>> = {
  make: 'Make tools',
  use: 'Use tools',
  connect: 'Connect agents and servers',
  govern: 'Govern calls',
  install: 'Install from sources',
};
// A group of built-in tools, whose commands are used like verbs.
const CONTEXT = {
  name: 'context',
  group: 'use',
  summary: 'Read and query large results and documents',
} as const;

type Row = Pick<VerbEntry, 'name' | 'group' | 'summary'>;

const ROWS: readonly Row[] = [...VERBS, CONTEXT];
const WIDTH = Math.max(...ROWS.map(({ name }) => name.length));

const toLine = ({ name, summary }: Row): string => `  ${name.padEnd(WIDTH)}  ${summary}`;

/** The text of `wield` alone. */
export function formatShortHelp(): string {
  return [
    'wield: a tool runtime for AI agents',
    '',
    ...FIRST.map((name) => toLine(ROWS.find((row) => row.name === name)!)),
    '',
    'Get started',
    '  wield init',
    '  wield call hello --name Ada',
    '',
    'wield --help shows all commands.',
    '',
  ].join('\n');
}

/** The text of `wield --help`: all verbs by task. */
export function formatHelp(): string {
  return [
    'wield: a tool runtime for AI agents',
    ...Object.entries(GROUPS).flatMap(([group, title]) => [
      '',
      title,
      ...ROWS.filter((row) => row.group === group).map(toLine),
    ]),
    '',
    'Tools are commands too: wield hello --name Ada, wield <group> <command>.',
    'wield <command> --help shows the flags of a command.',
    '',
  ].join('\n');
}
