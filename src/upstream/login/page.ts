// What browsers are shown during logins.

import type { PageResponse } from '../../net/page.js';

// No other site may show it in a frame: a click there would confirm a login here.
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  // The address of a page contains its secret. With `no-referrer`, forms of the page would have no origin.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** Returns a page with paragraphs of text, and a form with a button to confirm it, which sends nothing else. */
export function toPage(status: number, paragraphs: readonly string[], button?: string): PageResponse {
  const text = paragraphs.map((one) => `<p>${escapeHtml(one)}</p>`).join('');
  const form = button === undefined ? '' : `<form method="post"><button>${escapeHtml(button)}</button></form>`;
  return {
    status,
    headers: HEADERS,
    body:
      '<!doctype html><meta charset="utf-8"><title>wield</title>' +
      `<body style="font: 1.1em system-ui; max-width: 32em; margin: 20vh auto; text-align: center">${text}${form}`,
  };
}

export function toRedirect(url: URL, cookie: string): PageResponse {
  return { status: 303, headers: { ...HEADERS, location: url.href, 'set-cookie': cookie }, body: '' };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}
