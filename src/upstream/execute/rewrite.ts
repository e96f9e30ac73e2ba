// Rewrites the URIs of a server's resources in what it returns, so that the client can read them here.

import { isRecord, type Json } from '../../core/json.js';
import type { Output, Part } from '../../core/result.js';
import type { ServerEntry } from '../../core/upstream.js';
import { toPublicMeta, toServerUri } from '../catalog/listed-fields.js';

/** Rewrites links, embedded resources and pages of MCP Apps. Contents stay as they are. */
export function rewriteOutput(output: Output, server: ServerEntry, isPrompt: boolean): Output {
  const { structured, meta } = output;
  const messages =
    isPrompt && isRecord(structured) && Array.isArray(structured.messages) ? structured.messages : undefined;
  return {
    ...output,
    content: output.content.map((part) => rewritePart(part, server)),
    ...(messages === undefined
      ? {}
      : { structured: { ...(structured as object), messages: messages.map((one) => rewriteMessage(one, server)) } }),
    ...(meta?.remote === undefined
      ? {}
      : { meta: { ...meta, remote: toPublicMeta(meta.remote, server) as typeof meta.remote } }),
  };
}

function rewriteMessage(message: Json, server: ServerEntry): Json {
  if (!isRecord(message) || !isRecord(message.content)) return message;
  return { ...message, content: rewritePart(message.content as unknown as Part, server) } as unknown as Json;
}

function rewritePart(part: Part, server: ServerEntry): Part {
  const meta = part._meta === undefined ? {} : { _meta: toPublicMeta(part._meta as Json, server) };
  if (part.type === 'resource_link') return { ...part, ...meta, uri: toServerUri(server, part.uri) } as Part;
  if (part.type !== 'resource') return part;
  const { resource } = part;
  const own = '_meta' in resource ? { _meta: toPublicMeta(resource._meta as Json, server) } : {};
  return { ...part, ...meta, resource: { ...resource, ...own, uri: toServerUri(server, resource.uri) } } as Part;
}
