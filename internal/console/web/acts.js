// What is asked of the playground, and what is told of its answer.

import { $ } from './dom.js';
import { t } from './texts.js';

export function call(path, body) {
  return ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}

// upload sends a file into a chat.
export function upload(chat, user, file, relation) {
  const query = new URLSearchParams({ chat, user, name: file.name, reply: relation.reply || '', topic: relation.topic ? '1' : '' });
  return ask('api/upload?' + query, { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: file });
}

// ask makes a request, and tells the visitor when it fails; null then.
async function ask(path, options) {
  let code = 'network', detail = '';
  try {
    const r = await fetch(path, options);
    const answer = await r.json();
    if (r.ok) return answer;
    code = answer.error;
    detail = answer.detail;
  } catch { /* told below */ }
  toast('error', (t.errors[code] || t.errors.internal) + (detail ? t.colon + detail : ''));
  return null;
}

// press presses a button of a card.
export async function press(node, message, value, filled) {
  node.disabled = true;
  const answer = await call('api/press', { message: message.id, user: $('speaker').value, value, filled });
  node.disabled = false;
  if (answer) toast(answer.type || 'info', answer.content || t.done);
}

let fading = 0;

export function toast(kind, text) {
  const box = $('toast');
  box.dataset.kind = kind;
  box.textContent = text;
  box.classList.add('shown');
  clearTimeout(fading);
  fading = setTimeout(() => box.classList.remove('shown'), 4000);
}
