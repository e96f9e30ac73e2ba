// The engine of programs: QuickJS in a process of its own, with one channel and nothing else (COD-2).

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { JSException, type JSValueHandle, QuickJS, type QuickJSOptions } from 'quickjs-wasi';
import type { Json } from '../../core/json.js';
import { isLargeJson, MOST_READ, measureJson } from '../../core/json-size.js';
import { CHANNEL, createLineReader, sendLine } from '../../process/lines.js';
import type {
  CallKind,
  EngineCall,
  EngineLimits,
  EngineReply,
  EngineRequest,
  ProgramEnd,
  ProgramError,
} from '../protocol.js';
import { withMaximum } from './wasm.js';
import { WORLD } from './world.js';

// Not among the types of Node.
declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };

const FILE = 'program';
const MAX_LINE_BYTES = 256 * 1024 * 1024;
// For the interpreter itself, in addition to the memory of the program.
const OWN_BYTES = 16 * 1024 * 1024;
// Less than the process has, so that a program can catch an overflow.
const STACK_BYTES = 192 * 1024;
// Written and read by the process that serves everybody.
const MAX_SNAPSHOT_BYTES = 3 * 1024 * 1024;
// What the parent reads in one turn of its event loop (TOOL-24).
const MAX_TURN_CHARACTERS = 16 * 1024 * 1024;
const TOO_LONG = 'the value of return has more than 16 MiB; return less of it, or write it with a tool';
const MAX_ERROR = 10_000;
const TICKS_PER_CHECK = 16;
const CUT = '[more output was cut]';
// Property of the global object with the functions of the world; found there again after a restore.
const HOST = '__wield';

// Decision 0174: V8 optimizes functions of the interpreter later, since that takes longer than most programs.
setFlagsFromString('--wasm-tiering-budget=100000000');

const wasm = readFileSync(process.argv[2]!);
const send = (reply: EngineReply): void => sendLine(JSON.stringify(reply));

/** A program in this process. */
class Program {
  readonly #limits: EngineLimits;
  readonly #cpu = process.cpuUsage();
  #vm!: QuickJS;
  #now: number;
  #ticks = 0;
  #logLeft: number;
  #calls: EngineCall[] = [];
  #logs: string[] = [];
  #end: ProgramEnd | undefined;
  // Whether the program could not be compiled.
  #isSyntax = false;
  // What the inputs of further calls may have in this turn.
  #room = MOST_READ;
  #characters = MAX_TURN_CHARACTERS;

  private constructor(now: number, limits: EngineLimits) {
    this.#now = now;
    this.#limits = limits;
    this.#logLeft = limits.logCharacters;
  }

  static async start({ source, seed, now, limits }: EngineRequest & { type: 'start' }): Promise<Program> {
    const program = new Program(now, limits);
    const vm = await QuickJS.create(program.#options());
    program.#vm = vm;
    const functions = Object.entries(program.#callbacks()).map(([name, run]) => vm.newFunction(name, run));
    const world = vm.evalCode(WORLD, 'world');
    vm.setProp(vm.global, HOST, vm.callFunction(world, vm.undefined, ...functions, vm.newNumber(seed)));
    vm.evalCode(
      `Object.defineProperty(globalThis, '${HOST}', { writable: false, enumerable: false, configurable: false })`,
    );
    program.#run(() => program.#callHost('start', program.#compile(source)));
    return program;
  }

  static async restore({ snapshot, now, limits }: EngineRequest & { type: 'restore' }): Promise<Program> {
    const program = new Program(now, limits);
    const bytes = inflateRawSync(Buffer.from(snapshot, 'base64'));
    program.#vm = await QuickJS.restore(QuickJS.deserializeSnapshot(bytes), program.#options());
    for (const [name, run] of Object.entries(program.#callbacks())) program.#vm.registerHostCallback(name, run);
    return program;
  }

  deliver({ id, now, outcome }: EngineRequest & { type: 'deliver' }): void {
    this.#now = now;
    this.#run(() => this.#callHost('settle', this.#vm.newString(JSON.stringify({ id, outcome }))));
  }

  /** Returns undefined if it is too large: the program is then repeated from its journal. */
  snapshot(): string | undefined {
    const bytes = deflateRawSync(QuickJS.serializeSnapshot(this.#vm.snapshot()), { level: 1 });
    return bytes.length > MAX_SNAPSHOT_BYTES ? undefined : bytes.toString('base64');
  }

  /** Returns what happened since the last turn. */
  turn(): EngineReply {
    const turn = { type: 'turn' as const, calls: this.#calls, logs: this.#logs, cpuMs: this.#cpuMs() };
    const end = this.#end;
    this.#calls = [];
    this.#room = MOST_READ;
    this.#characters = MAX_TURN_CHARACTERS;
    this.#logs = [];
    this.#end = undefined;
    return end === undefined ? turn : { ...turn, end };
  }

  #options(): QuickJSOptions {
    const { memoryBytes } = this.#limits;
    return {
      // Synchronously, which compiles functions on first use.
      wasm: new WebAssembly.Module(withMaximum(wasm, memoryBytes + OWN_BYTES)) as QuickJSOptions['wasm'],
      memoryLimit: memoryBytes,
      maxStackSize: STACK_BYTES,
      timezoneOffset: 0,
      // COD-7: time passes only when a result arrives, so that a replay sees the same.
      wasi: (memory) => ({
        clock_time_get: (_clock, _precision, result) => {
          new DataView(memory.buffer).setBigUint64(result, BigInt(Math.round(this.#now)) * 1_000_000n, true);
          return 0;
        },
        random_get: (at, length) => {
          new Uint8Array(memory.buffer, at, length).fill(0);
          return 0;
        },
        fd_write: () => 8,
      }),
      interruptHandler: () => {
        if (++this.#ticks % TICKS_PER_CHECK === 0 && this.#cpuMs() > this.#limits.cpuMs) end({ type: 'limit' });
        return false;
      },
    };
  }

  // Arguments come from the world, which passes only strings; a program that finds a way around it stops here.
  #callbacks(): Record<string, (...args: JSValueHandle[]) => JSValueHandle> {
    const texts = (args: readonly JSValueHandle[]): string[] => args.map((arg) => (arg.isString ? arg.toString() : ''));
    return {
      call: (...args) => {
        const [id = '', kind = '', name = '', input = ''] = texts(args);
        const call = { id: Number(id), kind: kind as CallKind, name };
        // What the parent reads at once has the size of one value, also if there are many calls.
        const size = this.#roomFor(input);
        this.#calls.push(
          size ? { ...call, input: JSON.parse(input) as Json } : { ...call, input: null, isLarge: true },
        );
        // The parent names these calls, and runs none of them.
        const { calls } = this.#limits;
        if (this.#calls.length > calls || call.id > calls) end(this.turn());
        return this.#vm.undefined;
      },
      log: (...args) => {
        this.#log(texts(args)[0] ?? '');
        return this.#vm.undefined;
      },
      end: (...args) => {
        this.#end ??= toEnd(texts(args)[0] ?? '');
        return this.#vm.undefined;
      },
    };
  }

  // Takes what an input needs of what the calls of a turn may have together; false if there is not enough left.
  #roomFor(input: string): boolean {
    const { values, properties, depth } = this.#room;
    const size = input.length > this.#characters ? undefined : measureJson(input, this.#room);
    if (size === undefined) return false;
    this.#characters -= input.length;
    this.#room = { values: values - size.values, properties: properties - size.properties, depth };
    return true;
  }

  #log(text: string): void {
    if (this.#logLeft < 0) return;
    const shown = text.slice(0, this.#logLeft);
    this.#logLeft -= text.length + 1;
    if (shown !== '' || text === '') this.#logs.push(shown);
    if (this.#logLeft < 0) this.#logs.push(CUT);
  }

  #compile(source: string): JSValueHandle {
    try {
      return this.#vm.evalCode(source, FILE);
    } catch (error) {
      // Of the text itself, since this runs nothing.
      if (error instanceof JSException && error.name === 'SyntaxError') this.#isSyntax = !this.#compiles(source);
      throw error;
    }
  }

  #compiles(source: string): boolean {
    try {
      this.#vm.compile(source, FILE);
      return true;
    } catch {
      return false;
    }
  }

  #callHost(name: 'start' | 'settle', argument: JSValueHandle): void {
    const host = this.#vm.global.getProp(HOST);
    this.#vm.callFunction(host.getProp(name), this.#vm.undefined, argument).dispose();
  }

  #run(act: () => void): void {
    try {
      act();
      while (this.#vm.executePendingJobs() > 0);
    } catch (error) {
      if (!(error instanceof JSException)) throw error;
      const { name, message, stack = '' } = error;
      const thrown = { name: String(name), message: String(message), stack: String(stack) };
      this.#end ??= readEnd({ error: this.#isSyntax ? { ...thrown, isSyntax: true } : thrown });
    }
  }

  #cpuMs(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    return (user + system) / 1000;
  }
}

type RawEnd =
  | { readonly value?: Json }
  | { readonly error: Record<'name' | 'message' | 'stack', string> & Pick<ProgramError, 'call' | 'isSyntax'> };

const VALUE = '{"value":';

function toEnd(text: string): ProgramEnd {
  if (!text.startsWith(VALUE)) return readEnd(JSON.parse(text) as RawEnd);
  if (text.length > MAX_TURN_CHARACTERS) return { error: { name: 'RangeError', message: TOO_LONG } };
  return isLargeJson(text) ? { text: text.slice(VALUE.length, -1) } : readEnd(JSON.parse(text) as RawEnd);
}

function readEnd(raw: RawEnd): ProgramEnd {
  if (!('error' in raw)) return raw;
  const { stack, ...thrown } = raw.error;
  const error = { ...thrown, name: thrown.name.slice(0, MAX_ERROR), message: thrown.message.slice(0, MAX_ERROR) };
  const line = /\bprogram:(\d+)/.exec(stack)?.[1];
  return { error: line === undefined ? error : { ...error, line: Number(line) } };
}

function end(last: EngineReply): never {
  send(last);
  process.exit(0);
}

let program: Program | undefined;

async function handle(request: EngineRequest): Promise<void> {
  if (request.type === 'snapshot') {
    const snapshot = program!.snapshot();
    send(snapshot === undefined ? { type: 'snapshot' } : { type: 'snapshot', snapshot });
    return;
  }
  if (request.type === 'start') program = await Program.start(request);
  else if (request.type === 'restore') program = await Program.restore(request);
  else program!.deliver(request);
  send(program!.turn());
}

const channel = new Socket({ fd: CHANNEL, readable: true, writable: false });
const onLine = (line: string): void => {
  handle(JSON.parse(line) as EngineRequest).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
};
channel.on('data', createLineReader(onLine, MAX_LINE_BYTES));
for (const event of ['error', 'close', 'end']) channel.on(event, () => process.exit(0));
send({ type: 'ready', engine: createHash('sha256').update(wasm).update(WORLD).digest('hex').slice(0, 16) });
