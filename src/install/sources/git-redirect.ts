// Follows the redirect of a repository that has moved, to https addresses no nearer than the one that was given (INS-78).

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { classifyHost, isWithinReach } from '../../net/address.js';
import { hideUser } from './location.js';

// Git itself follows none, wherever it leads.
const REDIRECTED = /returned error: 30[12378]\b/;
const LOCATION = /^.*<= Recv header: location: (.*)$/gim;
const REQUEST = '/info/refs?service=git-upload-pack';

/** Shows the headers of responses in stderr; values that are secret are left out by git. */
export const SHOW_HEADERS = { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' };

/** Whether git failed because of a redirect. */
export function isRedirected(stderr: string): boolean {
  return REDIRECTED.test(stderr);
}

/** Returns where a repository has moved. Throws `unavailable` if that is not followed. */
export function findMoved(url: string, stderr: string): string {
  const location = [...stderr.matchAll(LOCATION)].at(-1)?.[1]?.trim() ?? '';
  const target = URL.canParse(location, url) ? new URL(location, url) : undefined;
  const refuse = (why: string): ToolError =>
    new ToolError('unavailable', `${hideUser(url)} has moved to ${quoteOutside(hideUser(location), 200)}, ${why}`, {
      hint: 'if that address is correct, add it instead',
    });
  if (!target?.pathname.concat(target.search).endsWith(REQUEST) || !target.search.startsWith('?service='))
    throw refuse('which is not a repository');
  if (target.protocol !== 'https:') throw refuse('which is not encrypted');
  if (target.username !== '' || target.password !== '') throw refuse('which has credentials in it');
  const from = classifyHost(new URL(url).hostname).class;
  const { class: found, label } = classifyHost(target.hostname);
  if (from === 'forbidden' || !isWithinReach(found, from)) throw refuse(`which is ${label}`);
  return target.href.slice(0, target.href.indexOf(REQUEST));
}
