// Prompts: messages that a person inserts into a conversation, made from arguments.

import type { JsonObject } from './json.js';
import type { Tool } from './tool.js';

/** A prompt. Its messages are made by calling its tool, so that takes the path of a call (RSC-1). */
export interface Prompt {
  readonly name: string;
  /** As listed: title, description, arguments, icons and _meta. */
  readonly fields: JsonObject;
  /** Named `prompt:<name>`. */
  readonly tool: Tool;
}

/** The names of the prompts of wield. */
export const OWN_PROMPT_NAMES = ['tools', 'capabilities'] as const;

/** The name of the tool that makes the messages of a prompt; selectors of rules match it. */
export function toPromptName(name: string): string {
  return `prompt:${name}`;
}
