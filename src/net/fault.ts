// Network and TLS errors as ToolErrors, without secrets.

import { getSystemErrorMap } from 'node:util';
import { isToolError, ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';

/** Formats a URL without credentials, query and fragment, which may contain secrets. */
export function showUrl(url: URL): string {
  return quoteOutside(`${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`, 200);
}

/** Creates an `unavailable` error with the URLs as data. */
export function unreachable(message: string, hint: string, data: Readonly<Record<string, unknown>> = {}): ToolError {
  return new ToolError('unavailable', message, { hint, data });
}

const UNTRUSTED = 'if it is from your network, set ca in [net] of ~/.wield/config.toml to the file of its authority';
const NETWORK: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ECONNREFUSED: ['connection refused', 'start the server, or correct its url'],
  ENOTFOUND: ['host not found', 'check the name in its url'],
  EAI_AGAIN: ['DNS lookup failed', 'check the network and try again'],
  ECONNRESET: ['the connection was reset', 'try again; if it persists, check the log of the server'],
  ERR_STREAM_PREMATURE_CLOSE: ['the connection was reset', 'try again; if it persists, check the log of the server'],
  EPIPE: ['the connection was reset', 'try again; if it persists, check the log of the server'],
  ETIMEDOUT: ['connection timed out', 'check the network and the url, and try again'],
  EHOSTUNREACH: ['the host is unreachable', 'check the network or VPN'],
  ENETUNREACH: ['the network is unreachable', 'check the network or VPN'],
  EADDRNOTAVAIL: ['the address is not available', 'check the url and the network'],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'the operator of the server must renew it'],
  CERT_NOT_YET_VALID: ['its certificate is not valid yet', 'check the clock of this machine'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['its certificate is self-signed', UNTRUSTED],
  SELF_SIGNED_CERT_IN_CHAIN: ['its certificate chain is self-signed', UNTRUSTED],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['its certificate cannot be verified', UNTRUSTED],
  UNABLE_TO_GET_ISSUER_CERT: ['the issuer of its certificate is unknown', UNTRUSTED],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['the issuer of its certificate is unknown', UNTRUSTED],
  ERR_TLS_CERT_ALTNAME_INVALID: ['its certificate is for another host name', 'use the host name of the certificate'],
  EPROTO: ['TLS handshake failed', 'check whether its url is http:// or https://'],
  HPE_HEADER_OVERFLOW: ['its response headers are too large', 'check the log of the server'],
};

/** Converts a network or TLS error; the message has the URL but not the text of the error. */
function toNetworkError(thrown: unknown, url: URL): ToolError {
  const code = findCode(thrown) ?? 'unknown';
  const [what, hint] = NETWORK[code] ?? [
    code.startsWith('HPE_') ? 'the response is not HTTP' : `the connection failed (${code})`,
    'check the url and the network, and try again',
  ];
  return new ToolError('unavailable', `${showUrl(url)}: ${what}`, {
    hint,
    data: { url: showUrl(url), errno: code },
    cause: thrown,
  });
}

// Failures of a connection, and not of what came through it.
const CONNECTION =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ECONNRESET|ERR_STREAM_PREMATURE_CLOSE|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/;

// Up to the punctuation after it.
const PATH = /(https?:\/\/[^\s/]+\/)\S+?(?=[:;,.]?(?:\s|$))/g;

/**
 * Returns why something could not be sent to a receiver that the settings name: in words, and with the origins of URLs only,
 * because the paths of webhooks and collectors contain keys.
 */
export function deliveryReason(thrown: unknown): string {
  return wordsOf(thrown).replace(PATH, '$1…');
}

function wordsOf(thrown: unknown): string {
  const { name, message, errno } = thrown as NodeJS.ErrnoException;
  if (isToolError(thrown)) return message;
  if (name === 'AbortError' || name === 'TimeoutError') return 'it did not answer in time';
  return NETWORK[findCode(thrown) ?? '']?.[0] ?? getSystemErrorMap().get(errno ?? 0)?.[1] ?? message;
}

/** Converts an error of a request; a failed connection is that to the proxy, if there is one. */
export function toRequestError(thrown: unknown, url: URL, proxy: URL | undefined): ToolError {
  const isOfProxy = proxy !== undefined && CONNECTION.test(findCode(thrown) ?? '');
  return isOfProxy ? toProxyError(thrown, url, proxy) : toNetworkError(thrown, url);
}

/** Converts an error of the connection to a proxy. */
export function toProxyError(thrown: unknown, url: URL, proxy: URL): ToolError {
  const { message, data } = toNetworkError(thrown, proxy);
  return new ToolError('unavailable', `${showUrl(url)}: not reached through the proxy ${message}`, {
    hint: 'check that the proxy runs, and proxy in [net] of ~/.wield/config.toml',
    data: { ...data, url: showUrl(url), proxy: showUrl(proxy) },
    cause: thrown,
  });
}

// If several addresses were tried, uses the error of the first.
function findCode(thrown: unknown): string | undefined {
  const { code, errors } = thrown as { code?: unknown; errors?: readonly unknown[] };
  if (typeof code === 'string') return quoteOutside(code, 60);
  return errors === undefined || errors.length === 0 ? undefined : findCode(errors[0]);
}
