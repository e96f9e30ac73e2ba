// The formats of strings, by name: JSON Schema 2020-12 without those for international names, and `url`.

import { orNothing } from '../core/error.js';

// Unreserved characters, sub-delimiters and percent-encoded bytes (RFC 3986).
const URI_CHARACTER = String.raw`[\w.~!$&'()*+,;=-]|%[0-9a-f]{2}`;
const AUTHORITY = new RegExp(
  String.raw`^(?:(?:${URI_CHARACTER}|:)*@)?(?:\[(?<literal>[^\]]*)\]|(?:${URI_CHARACTER})*)(?::\d*)?$`,
  'i',
);
const PATH = new RegExp(`^(?:${URI_CHARACTER}|[:@/])*$`, 'i');
const QUERY = new RegExp(`^(?:${URI_CHARACTER}|[:@/?])*$`, 'i');
// Splits any string into scheme, authority, path, query and fragment (RFC 3986, appendix B).
const URI_PARTS = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
// A name of a URI template with a prefix length or `*` (RFC 6570).
const NAME = String.raw`(?:[a-z0-9_]|%[0-9a-f]{2})+(?:\.(?:[a-z0-9_]|%[0-9a-f]{2})+)*(?::[1-9]\d{0,3}|\*)?`;
const TEMPLATE = new RegExp(
  String.raw`^(?:[^\x00-\x20\x7f"<>%\\^${'`'}{|}]|%[0-9a-f]{2}|\{[+#./;?&=,!@|]?${NAME}(?:,${NAME})*\})*$`,
  'i',
);
const HOSTNAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const EMAIL =
  /^("(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"|[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*)@(.+)$/;
const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const IPV4 = new RegExp(`^${BYTE}(?:\\.${BYTE}){3}$`);
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i;
const DAY = String.raw`(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)`;
const HOUR = String.raw`T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)`;
const DURATION = new RegExp(`^P(?:\\d+W|${DAY}(?:${HOUR})?|${HOUR})$`);
const MINUTES_PER_DAY = 24 * 60;

/** Whether a string has a format. */
export const FORMATS: Readonly<Record<string, (value: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': (value) => /^.{10}[t\s]/i.test(value) && isDate(value.slice(0, 10)) && isTime(value.slice(11)),
  duration: matching(DURATION),
  uri: (value) => isUri(value, true),
  'uri-reference': (value) => isUri(value, false),
  'uri-template': matching(TEMPLATE),
  url: (value) => /^(?:https?|ftp):/i.test(value) && URL.canParse(value),
  email: isEmail,
  hostname: matching(HOSTNAME),
  ipv4: matching(IPV4),
  ipv6: isIpv6,
  regex: isRegex,
  uuid: matching(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i),
  'json-pointer': matching(/^(?:\/(?:[^~/]|~[01])*)*$/),
  'json-pointer-uri-fragment': matching(/^#(?:\/(?:[\w.!$&'()*+,;:=@-]|%[0-9a-f]{2}|~[01])*)*$/i),
  'relative-json-pointer': matching(/^(?:0|[1-9][0-9]*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/),
};

function matching(expression: RegExp): (value: string) => boolean {
  return (value) => expression.test(value);
}

function isDate(value: string): boolean {
  // A day that the month does not have becomes one of the next month.
  return /^\d{4}-\d\d-\d\d$/.test(value) && new Date(value).toJSON()?.startsWith(value) === true;
}

function isTime(value: string): boolean {
  const match = TIME.exec(value);
  if (match === null) return false;
  const [hour, minute, second, offsetHour, offsetMinute] = [1, 2, 3, 5, 6].map((at) => Number(match[at] ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  // A leap second is the last one of a day in UTC.
  const offset = (offsetHour * 60 + offsetMinute) * (match[4] === '-' ? -1 : 1);
  const utc = (hour * 60 + minute - offset + MINUTES_PER_DAY) % MINUTES_PER_DAY;
  return second < 60 || utc === MINUTES_PER_DAY - 1;
}

function isUri(value: string, isAbsolute: boolean): boolean {
  const [, scheme, authority, path = '', query = '', fragment = ''] = URI_PARTS.exec(value) ?? [];
  if (scheme === undefined ? isAbsolute : !/^[a-z][a-z0-9+.-]*$/i.test(scheme)) return false;
  return (
    (authority === undefined || isAuthority(authority)) && PATH.test(path) && QUERY.test(query) && QUERY.test(fragment)
  );
}

function isAuthority(authority: string): boolean {
  const match = AUTHORITY.exec(authority);
  const literal = match?.groups?.literal;
  return (
    match !== null && (literal === undefined || isIpv6(literal) || /^v[0-9a-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(literal))
  );
}

function isEmail(value: string): boolean {
  const [, name = '', host = ''] = EMAIL.exec(value) ?? [];
  if (name === '' || name.length > 64) return false;
  const address = /^\[(.*)\]$/.exec(host)?.[1];
  if (address === undefined) return HOSTNAME.test(host);
  return /^ipv6:/i.test(address) ? isIpv6(address.slice('ipv6:'.length)) : IPV4.test(address);
}

function isIpv6(value: string): boolean {
  return /^[0-9a-f:.]+$/i.test(value) && URL.canParse(`http://[${value}]`);
}

/** Whether a text is a regular expression; patterns of other languages may not be. */
export function isRegex(value: string): boolean {
  return orNothing(() => new RegExp(value, 'u')) !== undefined;
}
