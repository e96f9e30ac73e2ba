// A format for a file in the root of the workdir, such as a Makefile: each command that the file names is a tool.

import { join } from 'node:path';
import { isProgramName, type Mapping } from '../../core/command.js';
import { isToolError, ToolError } from '../../core/error.js';
import { type Format, type Reading, rejected } from '../../core/format.js';
import { isToolName } from '../../core/name.js';
import { type FileIdentity, type Place, toOrigin } from '../../core/origin.js';
import { type Finding, type Problem, toProblem } from '../../core/problem.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import { type CommandAction, NO_TRAITS, type Tool } from '../../core/tool.js';
import { readHead } from '../../files/read.js';
import { toFileUri } from '../../files/within.js';
import { createJsonSchema } from '../../schema/json.js';

/** A command that a file names. */
export interface RootCommand {
  /** The name of the tool. */
  readonly name: string;
  /** What it does. */
  readonly description: string;
  /** The exact command line: a program of the PATH, then texts and values of parameters. */
  readonly argv: readonly [program: string, ...rest: (string | RootParameter)[]];
  /** Schema of the parameters; none by default. */
  readonly input?: JsonSchema;
  /** Whether its process goes on after the call, such as a development server. */
  readonly background?: boolean;
}

/** A parameter in a command line; of a list, each element is one argument. */
export interface RootParameter {
  /** Its name in the schema. */
  readonly param: string;
  /** Text before the value, such as `NAME=`; then it may be left out before others. */
  readonly prefix?: string;
  /** Whether a value may begin with a dash, because the program does not read it as an option. */
  readonly allowDash?: boolean;
}

/** Options of `createRootFormat`. */
export interface RootFormatOptions {
  /** What tools show as their format. */
  readonly name: string;
  /** Whether it reads the file of this name. */
  readonly claims: (file: string) => boolean;
  /** Returns the commands of a file. Runs nothing; throws a ToolError with a hint if the file is not valid. */
  readonly parse: (text: string, file: string) => readonly RootCommand[];
}

const MAX_BYTES = 4 * 1024 * 1024;
/** The reading of a file that is not offered now; it is read again next time. */
export const NOT_OFFERED: Reading = { tools: [], problems: [], states: [undefined], pending: true };

/**
 * Creates a format. Its tools belong to the workspace, so a model needs trust to call them, and their digests contain
 * the bytes of the file, so an approval ends when the file changes.
 */
export function createRootFormat({ name, claims, parse }: RootFormatOptions): Format {
  const read = (file: string, place: Place): Reading => {
    const path = join(place.directory, file);
    const source = readSource(path, place);
    const states = [source.identity];
    if ('message' in source) return rejected(path, source, states);
    const tools: Tool[] = [];
    const problems: Problem[] = [];
    try {
      for (const command of parse(source.text, file)) {
        if (isToolName(command.name)) tools.push(toTool(command, name, source, place));
        else {
          const message = `"${quoteOutside(command.name, 60)}" is left out: it is not a tool name`;
          problems.push(toProblem(path, 'warning', { message, hint: 'use at most 64 letters, digits, _ and -' }));
        }
      }
    } catch (error) {
      const hint = (isToolError(error) ? error.hint : undefined) ?? 'fix the file';
      return rejected(path, { message: quoteOutside((error as Error).message, 200), hint }, states);
    }
    return { tools, problems, states };
  };
  return {
    name,
    places: ['root'],
    entries: 'files',
    claims,
    read(file, place, snapshot) {
      if (place.named !== true) return read(file, place);
      // By path: only in the workdir, which the commands run in, and read again because the workdir may change.
      return place.directory === snapshot?.workdir ? { ...read(file, place), pending: true } : NOT_OFFERED;
    },
  };
}

/** The file that defines a command. */
export interface DefiningFile {
  readonly path: string;
  readonly identity: FileIdentity;
}

/** A file and its text. */
export interface TextFile extends DefiningFile {
  readonly text: string;
}

/** Why a file cannot be read, and its state if it exists. */
type Unreadable = Finding & { readonly identity?: FileIdentity };

/** Reads a file, with limits. */
export function readSource(path: string, { boundary: within }: Place): TextFile | Unreadable {
  const head = readHead(path, MAX_BYTES, { within });
  if ('fault' in head) return { message: `cannot be read: ${head.message}`, hint: head.hint ?? 'check the file' };
  const { identity, complete, bytes } = head;
  if (!complete) return { message: 'is larger than 4 MiB', hint: 'shorten it', identity };
  return { path, identity, text: bytes.toString('utf8') };
}

/** What only formats of wield say about a command. */
export interface OwnCommand extends RootCommand {
  readonly destructive?: boolean;
  /** A word in what it runs that says that it may delete or publish something. */
  readonly mentions?: string;
  /** Whether `--` is written before the values of parameters. */
  readonly endOfOptions?: boolean;
  /** The directory that it runs in, relative to the workdir. */
  readonly directory?: string;
}

/** Makes the tool of a command. Throws if its program is not a name. */
export function toTool(command: OwnCommand, format: string, file: DefiningFile, place: Place): Tool {
  const { name, description, input = NO_PARAMETERS, background, destructive, mentions } = command;
  return {
    name,
    description: sanitize(description),
    input: createJsonSchema(input, { closed: true }),
    action: toAction(command, place.directory, file),
    origin: toOrigin(format, toFileUri(file.path), place),
    traits: {
      ...NO_TRAITS,
      ...(background === true ? { background } : {}),
      ...(destructive === true ? { destructive } : {}),
      ...(mentions === undefined ? {} : { metadata: { mentions } }),
    },
  };
}

const PLAIN: Omit<Mapping, 'kind' | 'param'> = {
  flag: '',
  normalizeNewlines: false,
  allowDash: false,
  split: false,
  optional: false,
  separateIfSkipped: false,
  contained: false,
};

function toAction(command: OwnCommand, directory: string, { path, identity }: DefiningFile): CommandAction {
  const [program, ...rest] = command.argv;
  if (!isProgramName(program))
    throw new ToolError('invalid_definition', `"${quoteOutside(program, 60)}" is not the name of a program`, {
      hint: 'use a program of the PATH, without a directory',
    });
  const args = rest.map((part): Mapping => {
    if (typeof part === 'string') return { ...PLAIN, kind: 'literal', param: '', literal: part };
    const { param, prefix, allowDash = false } = part;
    const named = prefix === undefined ? {} : { prefix, optional: true };
    return { ...PLAIN, kind: 'positional', param, allowDash, ...named };
  });
  if (command.directory !== undefined)
    args.push({ ...PLAIN, kind: 'workingdir', param: '', absentDefault: command.directory });
  const execution = {
    binary: program,
    subcommand: '',
    args,
    endOfOptions: command.endOfOptions ?? false,
    successExitCodes: [],
    hints: [],
  };
  return {
    kind: 'process',
    runs: 'command',
    directory,
    file: { path, identity },
    allowlist: { [program]: [''] },
    executions: [execution],
    binGroups: [],
  };
}
