// Approvals over the protocol: the client's person is asked, in the way of the era that is spoken (SRV-6).

import { randomBytes } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  PROTOCOL_VERSION_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ApprovalAnswer, ApprovalRequest, Approve } from '../../core/approval.js';
import { approvalRows, changeLines } from '../../core/approval-text.js';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { spellOut } from '../../core/text.js';

/** The questions of one request. */
export interface Asking {
  /** Undefined where the client can ask nobody. */
  readonly approve: Approve | undefined;
  /** What the request is answered with instead of a result, where the newer era has a question. */
  question(): InputRequiredResult | undefined;
}

export interface McpApprovals {
  ask(server: Server, context: ServerContext): Asking;
  /** Refuses state that is not ours, altered or too old, before a handler sees it. */
  verify(state: string, context: ServerContext): Promise<unknown>;
}

interface State {
  /** Names exactly one call: caller, tool, plan, directory and input. */
  readonly binding: string;
  readonly nonce: string;
}

const KEY = 'consent';
const RUN = 'run it once';
const TTL_SECONDS = 600;
// Questions that are open at once; a model must not flood the person, nor this process.
const MAX_OPEN = 256;
const MAX_DIALOGS = 16;

/** One for a server process: what it signs, another cannot have signed, and each answer counts once. */
export function createMcpApprovals(): McpApprovals {
  const codec = createRequestStateCodec<State>({ key: randomBytes(32), ttlSeconds: TTL_SECONDS });
  const open = new Set<string>();
  let dialogs = 0;

  const openQuestion = async (request: ApprovalRequest, context: ServerContext) => {
    const nonce = randomBytes(16).toString('hex');
    if (open.size >= MAX_OPEN) open.delete(open.values().next().value!);
    open.add(nonce);
    return inputRequired({
      inputRequests: { [KEY]: inputRequired.elicit(toForm(request)) },
      requestState: await codec.mint({ binding: request.record.binding, nonce }, context),
    });
  };

  const askNewer = (context: ServerContext): Asking => {
    const state = context.mcpReq.requestState<State>();
    let question: InputRequiredResult | undefined;
    const approve = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
      // The client answers by calling again from the top: what a tool does in its midst cannot wait for that.
      if (request.depth > 0) return 'unable';
      if (state !== undefined) {
        assertFits(open.delete(state.nonce) && state.binding === request.record.binding, request);
        const response = inputResponse(context.mcpReq.inputResponses, KEY);
        if (response.kind === 'elicit') return toAnswer(response);
      }
      question = await openQuestion(request, context);
      return 'later';
    };
    return { approve: Object.assign(approve, { by: 'mcp' as const }), question: () => question };
  };

  const askOlder = ({ mcpReq }: ServerContext): Asking => {
    const approve = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
      if (dialogs >= MAX_DIALOGS) return 'unable';
      dialogs++;
      try {
        const result = await mcpReq.send(
          { method: 'elicitation/create', params: { mode: 'form', ...toForm(request) } },
          { signal: request.signal, timeout: TTL_SECONDS * 1000 },
        );
        return toAnswer(result);
      } finally {
        dialogs--;
      }
    };
    return { approve: Object.assign(approve, { by: 'mcp' as const }), question: () => undefined };
  };

  return {
    verify: codec.verify,
    ask(server, context) {
      const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
      const isNewer = envelope[PROTOCOL_VERSION_META_KEY] !== undefined;
      const capabilities = isNewer ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
      if (!takesForms(capabilities)) return { approve: undefined, question: () => undefined };
      return isNewer ? askNewer(context) : askOlder(context);
    },
  };
}

// The capability without a mode is older than modes, and meant forms.
function takesForms(capabilities: unknown): boolean {
  const elicitation = isRecord(capabilities) ? capabilities.elicitation : undefined;
  return isRecord(elicitation) && (elicitation.form !== undefined || elicitation.url === undefined);
}

function toAnswer({ action, content }: { action: string; content?: Record<string, unknown> | undefined }) {
  return action === 'accept' && content?.decision === RUN ? 'once' : 'deny';
}

function assertFits(fits: boolean, { tool, id }: ApprovalRequest): void {
  if (fits) return;
  throw new ToolError(
    'needs_approval',
    `${tool.name} was not run: the answer is for another call, or was used`,
    {
      hint: 'call it again without requestState, and a new question is asked',
      data: { id },
    },
  );
}

function toForm({ record, changes }: ApprovalRequest) {
  const lines = [
    `${spellOut(record.tool)} asks for your consent.`,
    ...approvalRows(record).map(([label, value]) => `${label}: ${value}`),
    ...(changes === undefined ? [] : ['changed since last time:', ...changeLines(changes)]),
  ];
  return {
    message: lines.join('\n'),
    requestedSchema: {
      type: 'object' as const,
      properties: {
        decision: { type: 'string' as const, title: 'Your decision', enum: ['do not run it', RUN] },
      },
      required: ['decision'],
    },
  };
}
