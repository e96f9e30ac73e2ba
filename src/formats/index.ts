// The formats that files of tools are written in.

export { createScriptFormat } from './script.js';
export { createSkillFormat } from './skill.js';
export { createToolsJsonFormat } from './tools-json.js';
