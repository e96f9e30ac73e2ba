import type { Client } from '@modelcontextprotocol/client';
import type { FrameLocator, Page } from 'playwright-core';

/** What a client announces that can show apps. */
export const APP_CAPABILITIES: object;
/** Shows the app of a tool, with the result of a call; returns its frame, and what it asked for. */
export function showApp(
  page: Page,
  client: Client,
  name: string,
  input?: object,
): Promise<{ readonly app: FrameLocator; readonly asked: readonly string[] }>;
