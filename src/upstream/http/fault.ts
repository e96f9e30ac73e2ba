// What went wrong between here and a server, in words and without a secret: refusals, broken connections, TLS.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';

/** An address for people: without credentials, query and fragment, where secrets stand. */
export function showUrl(url: URL): string {
  return quoteOutside(`${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`, 200);
}

/** `unavailable`, with the addresses as facts. */
export function unreachable(
  message: string,
  hint: string,
  data: Readonly<Record<string, unknown>> = {},
): ToolError {
  return new ToolError('unavailable', message, { hint, data });
}

const UNTRUSTED =
  'its certificate must come from an authority this machine knows; NODE_EXTRA_CA_CERTS=FILE adds one of your own';
const NETWORK: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ECONNREFUSED: ['nothing listens there', 'start the server, or correct its url'],
  ENOTFOUND: ['no such host', 'check the name in its url'],
  EAI_AGAIN: ['the name cannot be looked up now', 'check the network, and call again'],
  ECONNRESET: ['the connection was cut', 'call again; if it stays so, look at the log of the server'],
  EPIPE: ['the connection was cut', 'call again; if it stays so, look at the log of the server'],
  ETIMEDOUT: ['no answer', 'check the network and the url, and call again'],
  EHOSTUNREACH: ['the host cannot be reached from here', 'check the network or VPN'],
  ENETUNREACH: ['the network cannot be reached from here', 'check the network or VPN'],
  EADDRNOTAVAIL: ['the address cannot be reached from here', 'check the url and the network'],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'whoever runs it must renew the certificate'],
  CERT_NOT_YET_VALID: ['its certificate is not valid yet', 'check the clock of this machine'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['its certificate is self-signed', UNTRUSTED],
  SELF_SIGNED_CERT_IN_CHAIN: ['its chain of certificates ends in a self-signed one', UNTRUSTED],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['its certificate cannot be verified', UNTRUSTED],
  UNABLE_TO_GET_ISSUER_CERT: ['the issuer of its certificate is unknown', UNTRUSTED],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['the issuer of its certificate is unknown', UNTRUSTED],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'its certificate is for another name',
    'use the name that the certificate is for',
  ],
  EPROTO: ['it does not speak TLS as expected', 'check whether its url is http:// or https://'],
  HPE_HEADER_OVERFLOW: ['the headers of its answer are too large', 'look at the log of the server'],
};

/** An error of the network or of TLS as one of ours; the address is shown, the error's own text is not. */
export function toNetworkError(thrown: unknown, url: URL): ToolError {
  const code = findCode(thrown) ?? 'unknown';
  const [what, hint] = NETWORK[code] ?? [
    code.startsWith('HPE_') ? 'its answer is no HTTP' : `the connection failed (${code})`,
    'check the url and the network, and call again',
  ];
  return new ToolError('unavailable', `${showUrl(url)}: ${what}`, {
    hint,
    data: { url: showUrl(url), errno: code },
    cause: thrown,
  });
}

// Of several addresses that were tried in turn, the first says most.
function findCode(thrown: unknown): string | undefined {
  const { code, errors } = thrown as { code?: unknown; errors?: readonly unknown[] };
  if (typeof code === 'string') return quoteOutside(code, 60);
  return errors === undefined || errors.length === 0 ? undefined : findCode(errors[0]);
}
