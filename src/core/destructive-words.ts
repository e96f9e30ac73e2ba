// Finds words that say that a tool deletes, overwrites or publishes something, for marks and hints.

import { words } from './text.js';
import type { Tool } from './tool.js';

// Stems that no other word contains are found anywhere: `cleanup`, `redeploy`, `dbreset`; short ones as words of their own.
const STEM = new RegExp(
  [
    '(?<![a-z])(?:rm|rmdir|rmrf|del|(?:p|x|f|task)?kill(?:s|ed|all|ing)?)(?![a-z])',
    'clean|clear|delet|destroy|destruct|discard|drop|erase|erasing|expir|nuk(?:e|ing)|wip(?:e|ing)|overwrit|prun(?:e|ing)|purg|remov|rimraf|(?<!p)reset|revert|revok',
    'roll[^a-z]?back|shred|shut[^a-z]?down|tear[^a-z]?down|terminat|truncat|uninstall|unlink',
    'deploy|publish|push|releas|migrat',
  ].join('|'),
);

/** Returns the first such word of a name or text: `delete` of `deleteAll`, `cleanup` of `make-cleanup`. */
export function findDestructiveWord(name: string): string | undefined {
  const parts = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
  const found = STEM.exec(parts);
  if (found === null) return undefined;
  const before = /[a-z]*$/.exec(parts.slice(Math.max(0, found.index - 30), found.index))![0];
  const after = /^[a-z]*/.exec(parts.slice(found.index + found[0].length, found.index + found[0].length + 30))![0];
  return before + found[0] + after;
}

const ACTING = new Set(
  words(`
    fix write update upgrade bump tag commit merge migrate seed restore sync install setup provision apply promote rollout ship
    upload send submit prod live start stop restart up down teardown flush dev serve watch preview
  `),
);

/** Whether a word of a name says that a task changes sources, data or other machines, or does not end. */
export function isActingWord(word: string): boolean {
  return ACTING.has(word);
}

// Programs that change other machines, and subcommands that do.
const REACHING =
  /(?<![\w-])(?:vercel|netlify|wrangler|firebase|surge|gh-pages|np|twine|terraform|tofu|pulumi|ansible[\w-]*|kubectl|helm|rsync|scp|ssh|sftp|fly|flyctl|serverless|sls|cdk|heroku|upload|apply|promote|rollout|submit)(?![\w-])/;

/** Returns the word by which a command line may delete, publish or change something elsewhere. */
export function findDestructiveCommand(text: string): string | undefined {
  // A build for release publishes nothing.
  return findDestructiveWord(text.replace(/--release\b/g, '')) ?? REACHING.exec(text.toLowerCase())?.[0];
}

/**
 * Returns the word by which a tool without marks may be destructive: of its name, of the command that it runs, or the
 * first one of its description. Undefined if it is marked as destructive, as not destructive, or as read-only.
 */
export function findUnmarkedWord({ name, description, traits, action }: Tool): string | undefined {
  if (traits.destructive !== undefined || traits.readOnly === true || action.kind === 'text') return undefined;
  const own = findVerb(name) ?? findVerb(description.split(' ', 1)[0]!.replace(/s$/, ''));
  if (own !== undefined || action.kind !== 'process' || action.runs !== 'command') return own;
  for (const { binary, subcommand, args } of action.executions) {
    for (const word of [binary, ...subcommand.split(' '), ...args.map(({ literal = '' }) => literal)]) {
      // A path or a sentence is not a command.
      const found = /^[\w:-]+$/.test(word) ? findVerb(word) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

// A hint about every `cleaner` would be ignored.
function findVerb(text: string): string | undefined {
  const word = findDestructiveWord(text);
  return word !== undefined && /ers?$/.test(word) ? undefined : word;
}

/** Says that models call a tool without asking although it may be destructive, and what to do about it (POL-38). */
export function describeUnmarked(
  { name, action }: Pick<Tool, 'name' | 'action'>,
  word: string,
): { readonly message: string; readonly hint: string } {
  // Only scripts and modules have marks of their own.
  const isMarkable = action.kind === 'module' || (action.kind === 'process' && action.runs === 'script');
  const mark = isMarkable ? 'mark it as destructive (@destructive) or read-only (@readonly), or ' : '';
  return {
    message: `${name} has no marks: a model's call does not ask first, although "${word}" may be destructive`,
    hint: `${mark}add a rule: [trust] rules = ["${name}"] asks first`,
  };
}
