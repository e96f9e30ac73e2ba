// Resources, prompts and completions of a toolbox over the protocol, and subscriptions to their changes.

import { deferred, onAbort } from '../core/async.js';
import { formatError } from '../core/error.js';
import type { Json, JsonObject } from '../core/json.js';
import { NO_OUTPUT, type ToolResult } from '../core/result.js';
import type { Infer } from '../core/shape.js';
import type { Toolbox } from '../core/toolbox.js';
import { ERROR, META, RpcError } from '../net/mcp.js';
import { resolveAppUri } from './apps.js';
import type { AutoModes } from './auto-mode.js';
import { identityKey } from './identity.js';
import type { InteractiveCalls } from './interaction.js';
import type { Listings } from './live-listing.js';
import { type PARAM_SHAPES, toNotification } from './message.js';
import { toPage } from './pages.js';
import { callerOf, MAX_SUBSCRIPTIONS, type RequestScope, Subscriptions, toCallOptions } from './request.js';
import { toMeta } from './result.js';

type Params<Name extends keyof typeof PARAM_SHAPES> = Infer<(typeof PARAM_SHAPES)[Name]>;

export function createResourceHandlers(toolbox: Toolbox, serve: InteractiveCalls['serve']) {
  const { resources, prompts } = toolbox.catalog;
  const list = async (isTemplate: boolean, cursor: string | undefined, scope: RequestScope): Promise<object> => {
    const all = (await resources.list({ caller: callerOf(scope) })).filter((one) => one.isTemplate === isTemplate);
    const [member, key] = isTemplate ? ['resourceTemplates', 'uriTemplate'] : ['resources', 'uri'];
    const listed = all.map(({ uri, fields }) => ({ ...fields, [key]: uri }));
    return toPage(member, listed, cursor);
  };
  return {
    list: ({ cursor }: Params<'list'>, scope: RequestScope) => list(false, cursor, scope),
    listTemplates: ({ cursor }: Params<'list'>, scope: RequestScope) => list(true, cursor, scope),
    async read(params: Params<'resource'>, scope: RequestScope) {
      const uri = resolveAppUri(params.uri, scope.meta);
      const run = (options: object) => resources.read(uri, options);
      const outcome = await serve({ scope, id: `resource:${uri}`, input: {}, run });
      if ('resultType' in outcome) return outcome;
      assertOk(outcome, { uri }, scope);
      const parts = outcome.content.filter((part) => part !== NO_OUTPUT);
      const contents = parts.map((part) =>
        part.type === 'resource' ? part.resource : { uri, text: part.type === 'text' ? part.text : '' },
      );
      return { contents, _meta: toMeta(outcome) };
    },
    async listPrompts({ cursor }: Params<'list'>, scope: RequestScope) {
      const all = (await prompts.list({ caller: callerOf(scope) })).map(({ name, fields }) => ({ ...fields, name }));
      return toPage('prompts', all, cursor);
    },
    async getPrompt({ name, arguments: input = {} }: Params<'prompt'>, scope: RequestScope) {
      const run = (options: object) => prompts.get(name, input, options);
      const outcome = await serve({ scope, id: `prompt:${name}`, input, run });
      if ('resultType' in outcome) return outcome;
      assertOk(outcome, { name }, scope);
      const _meta = toMeta(outcome);
      return { ...(outcome.structured as JsonObject), ...(_meta && { _meta }) };
    },
    async complete({ ref, argument, context }: Params<'complete'>, scope: RequestScope) {
      // The name or URI at the server is filled in where the request is sent.
      const input = { ref: { type: ref.type }, argument, ...(context === undefined ? {} : { context }) } as Json;
      const target = 'name' in ref ? { prompt: ref.name } : { template: ref.uri };
      const { controller, operation } = scope;
      // A client completes while a person types: no question is asked or stored for what they have typed so far.
      const approve = async () => 'cancel' as const;
      const options = { ...toCallOptions(scope), controller, operation, approve };
      const result = await prompts.complete(target, input, options);
      // Without completions a client shows none; an error would be shown to the person.
      return { completion: result.error === undefined ? result.structured : { values: [] } };
    },
    /** In the older protocol version; the subscription ends with the connection or session. */
    async subscribe({ uri }: Params<'resource'>, scope: RequestScope) {
      const { subscriptions, announce } = scope.client;
      const tell = (): void => announce(toNotification('notifications/resources/updated', { uri }));
      let end = (): void => {};
      const run = async (options: object): Promise<ToolResult> => {
        const subscription = await resources.subscribe(uri, tell, options);
        end = subscription.end;
        return subscription.result;
      };
      const outcome = await subscriptions.start(() => serve({ scope, id: `resource:${uri}`, input: {}, run }));
      if (outcome === undefined)
        throw new RpcError(ERROR.invalidParams, `more than ${MAX_SUBSCRIPTIONS} subscriptions; unsubscribe first`);
      assertOk(outcome as ToolResult, { uri }, scope);
      subscriptions.add(uri, end);
      return {};
    },
    async unsubscribe({ uri }: Params<'resource'>, { client }: RequestScope) {
      client.subscriptions.delete(uri);
      return {};
    },
  };
}

function assertOk(
  { error, meta }: ToolResult,
  data: Readonly<Record<string, string>>,
  { isNewer }: RequestScope,
): void {
  if (error === undefined) return;
  // The versions have different codes for a resource that does not exist.
  const isMissing = error.code === 'not_found' && data.uri !== undefined;
  const missing = isNewer ? ERROR.invalidParams : ERROR.resourceNotFound;
  if (meta.refusal !== undefined) {
    const { code, message, data: own } = meta.refusal;
    throw new RpcError(isMissing ? missing : code, message, own);
  }
  const isInvalid = ['not_found', 'invalid_input', 'invalid_ref'].includes(error.code);
  const code = isMissing ? missing : isInvalid ? ERROR.invalidParams : ERROR.internal;
  throw new RpcError(code, formatError(error), { ...data, 'wield/error': error });
}

// Of all clients together, and of those of a user.
const MAX_LISTENERS = 1024;
const MAX_OF_USER = 256;

/**
 * Answers `subscriptions/listen` of the newer protocol version: sends what changes until the request is cancelled, or the
 * server ends.
 */
export function createListen({ catalog: { resources } }: Toolbox, listings: Listings, modes: AutoModes) {
  // With their users.
  const open = new Map<() => void, string | undefined>();
  const hasRoom = (user: string | undefined): boolean => {
    const own = user === undefined ? [] : [...open.values()].filter((other) => other === user);
    return open.size < MAX_LISTENERS && own.length < MAX_OF_USER;
  };
  return {
    async listen({ notifications: wanted }: Params<'listen'>, scope: RequestScope): Promise<object> {
      const user = identityKey(scope.identity);
      if (!hasRoom(user)) throw new RpcError(ERROR.internal, 'Subscription limit reached');
      const _meta = { [META.subscription]: scope.id };
      const followed = new Subscriptions();
      const options = toCallOptions(scope);
      const follow = async (uri: string): Promise<boolean> => {
        const tell = (): void => scope.notify('notifications/resources/updated', { uri, _meta });
        const { result, end } = await resources.subscribe(uri, tell, options);
        followed.add(uri, end);
        return result.ok;
      };
      const { promise: ended, resolve: end } = deferred<void>();
      open.set(end, user);
      onAbort(scope.controller.signal, end);
      const kinds = (['tools', 'prompts', 'resources'] as const).filter((kind) => wanted[`${kind}ListChanged`]);
      const unlisten = listings.onChange(({ kind, identity, concerns }) => {
        if (identityKey(identity) !== user || !kinds.includes(kind) || !concerns(modes.of(scope.client))) return;
        const tell = (): void => scope.notify(`notifications/${kind}/list_changed`, { _meta });
        scope.client.announceChange(`${kind} ${scope.id}`, tell);
      });
      try {
        const uris = [...new Set(wanted.resourceSubscriptions)].slice(0, MAX_SUBSCRIPTIONS);
        const accepted = await Promise.all(uris.map(follow));
        const resourceSubscriptions = uris.filter((_, at) => accepted[at]);
        const notifications = {
          ...Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true])),
          ...(resourceSubscriptions.length === 0 ? {} : { resourceSubscriptions }),
        };
        scope.notify('notifications/subscriptions/acknowledged', { notifications, _meta });
        if (Object.keys(notifications).length > 0) await ended;
        return { _meta };
      } finally {
        open.delete(end);
        unlisten();
        followed.close();
      }
    },
    close() {
      for (const end of [...open.keys()]) end();
    },
  };
}
