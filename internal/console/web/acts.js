// What is asked of the playground, and what is told of its answer.

import { $ } from './dom.js';
import { t } from './texts.js';

export async function call(path, body) {
  let code = 'network', detail = '';
  try {
    const r = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const answer = await r.json();
    if (r.ok) return answer;
    code = answer.error;
    detail = answer.detail;
  } catch { /* told below */ }
  toast('error', (t.errors[code] || t.errors.internal) + (detail ? '：' + detail : ''));
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
