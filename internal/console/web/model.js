// What the page knows: the newest state that the playground has sent, and what was chosen on the page.

import { $ } from './dom.js';

export const model = {
  users: [], chats: [], violations: { count: 0, latest: [] }, connections: 0, chosen: 0, online: false, loaded: false,
  can: {}, bridge: {}, commands: [], unplugged: false, disk_full: false, refused: 0,
};

export function chosen() { return model.chats[Math.min(model.chosen, model.chats.length - 1)]; }

// me is who speaks in the chosen chat.
export function me() { return $('speaker').value; }

// take lays a new state over what is known.
export function take(next) {
  const before = new Map(next.full ? [] : model.chats.map(c => [c.id, c]));
  for (const chat of next.chats || []) {
    const old = before.get(chat.id);
    const known = new Map(old ? old.messages.map(m => [m.id, m]) : []);
    chat.messages = chat.messages.map(m => m.look ? { id: m.id, rev: m.rev, ...m.origin, ...m.look } : known.get(m.id)).filter(Boolean);
    chat.turns = chat.turns || (old ? old.turns : []);
  }
  Object.assign(model, next, { chats: next.chats || [], commands: next.commands || model.commands, loaded: true });
  paint();
}

let painter = () => {}, queued = false;

export function paintWith(f) { painter = f; }

// paint draws the page again, once for all that changes in a frame.
export function paint() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; painter(); });
}

// kept is what the browser keeps for the next visit, and keep keeps it; in a private window it is forgotten.
export function kept(key) {
  try { return JSON.parse(localStorage.getItem('magpie.' + key)); } catch { return null; }
}

export function keep(key, value) {
  try { localStorage.setItem('magpie.' + key, JSON.stringify(value)); } catch { /* private window */ }
}
