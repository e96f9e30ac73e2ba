// Builds the request of an operation from its input: address, headers and body.

import type { HttpAction, HttpParameter } from '../../core/http.js';
import { buildBody, type HttpRequest, type Input } from './body.js';
import { formatSegment, headerText, invalidValue, toPairs } from './style.js';

/** Builds a request. Throws `invalid_input` for a value that cannot be sent in its place. */
export function buildRequest(action: HttpAction, server: string, input: Input): HttpRequest {
  const given = action.parameters.flatMap((parameter) => {
    const value = Object.hasOwn(input, parameter.property) ? input[parameter.property] : undefined;
    return value === undefined || value === null ? [] : [{ parameter, value }];
  });
  const of = (place: HttpParameter['in']) => given.filter(({ parameter }) => parameter.in === place);
  const path = action.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const found = of('path').find(({ parameter }) => parameter.name === name);
    if (found === undefined) throw invalidValue(name, 'is missing, which would lead to another path');
    return formatSegment(found.parameter, found.value);
  });
  assertPath(path, action);
  const query = of('query').flatMap(({ parameter, value }) => toPairs(parameter.name, value, parameter));
  const headers: Record<string, string> = { accept: action.accept };
  for (const { parameter, value } of of('header')) headers[parameter.name.toLowerCase()] = headerText(parameter, value);
  const cookies = of('cookie').flatMap(({ parameter, value }) => toPairs(parameter.name, value, parameter));
  if (cookies.length > 0) headers.cookie = cookies.join('; ');
  const body = action.body && buildBody(action.body, input);
  if (body !== undefined) headers['content-type'] = body.contentType;
  const url = server + path + (query.length === 0 ? '' : `${path.includes('?') ? '&' : '?'}${query.join('&')}`);
  return { url, headers, ...(body === undefined ? {} : { body: body.body }) };
}

// `..` would leave the path that was declared, also in encoded form: some servers decode a path before they follow it.
function assertPath(path: string, { parameters }: HttpAction): void {
  if (!path.split(/[/\\]|%2f|%5c/i).some((step) => /^(?:\.|%2e){1,2}$/i.test(step))) return;
  const names = parameters.filter((one) => one.in === 'path').map(({ property }) => property);
  throw invalidValue(names.join(', '), 'is "." or "..", which would lead to another path');
}
