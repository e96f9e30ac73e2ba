// What an approval is bound to: makes the record of a call, and proves that a record is what its id says.

import type { ApprovalRecord } from '../core/approval.js';
import { formatCaller } from '../core/caller.js';
import { canonicalJson } from '../core/json.js';
import type { Plan, ProcessPlan } from '../core/plan.js';
import { sameIdentity, type Tool } from '../core/tool.js';
import type { Caller, Verdict } from '../core/toolbox.js';
import { digestParts } from '../files/digest.js';
import { readHead } from '../files/read.js';

export interface BindOptions {
  readonly plan: Plan;
  readonly caller: Caller;
  readonly verdict: Verdict;
  readonly workdir: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const ID_LENGTH = 16;
const MAX_SOURCE_BYTES = 64 * 1024;

/** The record of a planned call (POL-7). */
export function toRecord({ plan, caller, verdict, workdir, now }: BindOptions): ApprovalRecord {
  const { tool } = plan;
  const isProcess = plan.kind === 'process';
  const bound = {
    principal: `${caller.kind} ${formatCaller(caller)}`,
    tool: tool.name,
    uri: tool.origin.uri,
    // A found tool has one.
    toolDigest: tool.origin.digest!,
    planDigest: digestPlan(plan),
    workdir,
    input: plan.input,
  };
  return {
    binding: digestBound(bound),
    ...bound,
    description: tool.description,
    owner: tool.origin.owner,
    command: isProcess ? [...plan.launcher, plan.binary, ...plan.argv.slice(1)] : null,
    interpreter: (isProcess && plan.interpreter) || null,
    others: isProcess ? otherCommands(plan) : [],
    variables: isProcess ? Object.keys(plan.environment).sort() : [],
    definition: describeDefinition(tool),
    rule: verdict.rule,
    reason:
      verdict.source === undefined ? verdict.reason : `${verdict.reason} (${formatSource(verdict.source)})`,
    created: now,
  };
}

/** The id of a recorded call: the same for the same call. */
export function idOf({ binding }: ApprovalRecord): string {
  return binding.slice(0, ID_LENGTH);
}

/** The id of a standing approval: of this tool as it is, for this caller, in this directory. */
export function standingIdOf(record: ApprovalRecord): string {
  const { principal, tool, uri, toolDigest, workdir } = record;
  return digestParts(['standing', principal, tool, uri ?? '', toolDigest, workdir]).slice(0, ID_LENGTH);
}

/** The id of what is remembered of a tool, whatever it was like. */
export function toolIdOf({ tool, uri }: ApprovalRecord): string {
  return digestParts(['tool', tool, uri ?? '']).slice(0, ID_LENGTH);
}

/** Whether the fields of a record are those that its binding names. */
export function isIntact(record: ApprovalRecord): boolean {
  return digestBound(record) === record.binding;
}

type Bound = Pick<
  ApprovalRecord,
  'principal' | 'tool' | 'uri' | 'toolDigest' | 'planDigest' | 'workdir' | 'input'
>;

function digestBound({ principal, tool, uri, toolDigest, planDigest, workdir, input }: Bound): string {
  return digestParts([
    'call',
    principal,
    tool,
    uri ?? '',
    toolDigest,
    planDigest,
    workdir,
    canonicalJson(input),
  ]);
}

// Everything that decides what runs, values of variables included; the tool by its digest, which has its bytes.
function digestPlan({ tool, ...plan }: Plan): string {
  return digestParts(['plan', tool.name, tool.origin.digest ?? '', canonicalJson(plan)]);
}

function otherCommands({ command }: ProcessPlan): (readonly string[])[] {
  const steps = [...(command?.resolvers ?? []), ...(command?.postProcess ? [command.postProcess] : [])];
  return steps.filter(({ skipped }) => skipped === null).map(({ argv }) => argv);
}

function formatSource({ file, line }: NonNullable<Verdict['source']>): string {
  return `${file}:${line}`;
}

function describeDefinition(tool: Tool): string {
  const source = readSource(tool);
  const schema = JSON.stringify(tool.input.json, null, 2);
  return source ?? (schema.length > MAX_SOURCE_BYTES ? '' : `${tool.description}\n${schema}`);
}

// The text that will run, where it is a script and still the one that was planned: else nothing is shown.
function readSource({ action }: Tool): string | undefined {
  if (action.kind !== 'process' || action.runs !== 'script') return undefined;
  const reading = readHead(action.file, MAX_SOURCE_BYTES);
  if ('fault' in reading || !reading.complete || !sameIdentity(reading.identity, action.identity)) return '';
  return reading.bytes.toString('utf8');
}
