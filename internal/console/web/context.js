// The side on which one sees what is not seen in the chat: what the agent was sent, what heals, and the buttons that
// break things.

import { call } from './acts.js';
import { $, h, patch } from './dom.js';
import { chosen, model, paint } from './model.js';
import { clock } from './message.js';
import { lang, t } from './texts.js';

// --------------------------------------------------------------- breaking things

const lines = new Map(); // what was told about a lost session, by chat

async function busy(button, act) {
  button.disabled = true;
  const answer = await act();
  button.disabled = false;
  paint();
  return answer;
}

export async function lose() {
  const chat = chosen();
  if (!chat) return null;
  const answer = await busy($('lose-session'), () => call('api/lose', { chat: chat.id }));
  if (answer) lines.set(chat.id, { at: Date.now(), session: answer.session });
  paint();
  return answer;
}

export function kill() { return busy($('kill'), () => call('api/kill', {})); }

function flip(id, path, on) { return busy($(id), () => call(path, { on })); }

export function troubles() {
  $('lose-session').addEventListener('click', lose);
  $('kill').addEventListener('click', kill);
  $('unplug').addEventListener('click', () => flip('unplug', 'api/unplug', !model.unplugged));
  $('fill-disk').addEventListener('click', () => flip('fill-disk', 'api/disk', !model.disk_full));
}

function paintTroubles(chat) {
  $('lose-session').hidden = !model.can.lose;
  $('kill').hidden = !model.can.kill;
  $('fill-disk').hidden = !model.can.fill;
  $('kill').disabled = model.bridge.state === 'killed';
  for (const [id, on, off, is] of [['unplug', t.plug, t.unplug, model.unplugged], ['fill-disk', t.freeDisk, t.fillDisk, model.disk_full]]) {
    $(id).textContent = is ? on : off;
    $(id).setAttribute('aria-pressed', String(Boolean(is)));
  }
  const lost = lines.get(chat.id);
  $('lost-line').hidden = !lost;
  $('lost-line').textContent = lost ? clock(lost.at) + '  ' + (lost.session ? t.sessionLost(lost.session) : t.noSession) : '';
  const notes = [model.bridge.state === 'killed' ? t.killedNow : model.bridge.kills ? t.killedBefore(model.bridge.kills, model.bridge.pid) : '',
    model.unplugged ? t.unpluggedNow : '', model.disk_full ? t.fullNow : '', model.refused ? t.refusedNow(model.refused) : ''].filter(Boolean);
  $('trouble-line').dataset.refused = model.refused;
  $('trouble-line').hidden = notes.length === 0;
  $('trouble-line').textContent = notes.join(' ');
}

// --------------------------------------------------------------- rules of the platform

function paintViolations() {
  const v = model.violations, box = $('violations');
  const key = lang + v.count;
  if (box.magpieKey === key) return;
  box.magpieKey = key;
  box.dataset.count = v.count;
  box.hidden = v.count === 0;
  box.replaceChildren(h('div', { class: 'count' }, h('b', null, String(v.count)), h('span', null, t.violations)),
    h('ul', null, v.latest.map(x => h('li', null, h('code', null, x.rule), ' ' + x.detail))));
}

// --------------------------------------------------------------- turns

export function paintContext(chat) {
  paintTroubles(chat);
  paintViolations();
  patch($('turns'), chat.turns.length === 0 ? [{ key: 'none' + lang, make: () => h('p', { class: 'empty' }, t.noTurns) }]
    : chat.turns.map((turn, i) => ({ key: [lang, chat.id, turn.turn, turn.at].join(), make: () => turnNode(turn, i === 0), update: n => paintSent(n, turn) })));
}

function turnNode(turn, newest) {
  const kind = turn.live ? 'live' : turn.resume ? 'resume' : 'none';
  const state = turn.live ? t.live : turn.resume ? t.resume : t.none;
  const stat = (label, value) => h('div', null, h('dt', null, label), h('dd', null, value));
  return h('section', { class: 'turn', 'data-turn': turn.turn, 'data-state': kind, 'data-lost': turn.lost ? '1' : null, 'aria-label': t.turn(turn.turn) },
    h('div', { class: 'turn-head' }, h('b', null, t.turn(turn.turn)), h('time', { datetime: turn.at }, clock(turn.at)), h('span', { class: 'space' }),
      turn.lost ? h('span', { class: 'badge healed' }, t.healed) : null, h('span', { class: 'badge ' + kind }, state)),
    turn.question ? h('p', { class: 'question', title: turn.question }, turn.question) : null,
    turn.resume ? h('p', { class: 'session' }, t.session + ' ', h('code', null, turn.resume)) : null,
    turn.lost ? h('p', { class: 'lost' }, t.lostCause + t.colon + (t.causes[turn.lost] || turn.lost)) : null,
    turn.messages > 0 ? h('dl', null, stat(t.statMessages, turn.messages), stat(t.statUser, turn.user_messages), stat(t.statChars, turn.chars), stat(t.statTokens, turn.tokens)) : null,
    turn.prefix ? h('details', { class: 'prefix', open: newest && Boolean(turn.lost) },
      h('summary', null, turn.lost ? t.healedPrefix : t.prefix, h('small', null, t.prefixSize([...turn.prefix].length))),
      h('pre', { tabindex: 0 }, turn.prefix))
      : h('p', { class: 'no-prefix' }, t.noPrefix),
    h('details', { class: 'sent', open: newest, hidden: true }, h('summary'), h('ol')));
}

// paintSent shows the request that the model really got for a turn, message by message.
function paintSent(node, turn) {
  const box = node.querySelector('.sent'), sent = turn.sent;
  box.hidden = !sent;
  const key = lang + JSON.stringify(sent || null);
  if (!sent || box.magpieKey === key) return;
  box.magpieKey = key;
  box.firstElementChild.replaceChildren(t.sent, h('small', null, t.requests(sent.requests)));
  const item = (kind, role, ...content) => h('li', { 'data-kind': kind }, h('b', null, role), ...content);
  let asked = false;
  box.lastElementChild.replaceChildren(item('system', t.roleSystem, h('span', null, t.systemSize(sent.system, sent.tools))),
    ...(sent.left > 0 ? [item('left', '…', h('span', null, t.left(sent.left)))] : []),
    ...sent.messages.map(m => {
      if (!m.prompt) return item(asked ? 'work' : 'session', m.role === 'assistant' ? t.roleAssistant : m.role === 'system' ? t.roleSystem : asked ? t.roleTool : t.roleUser, h('span', null, m.text.replace(/\n{3,}/g, '\n\n')));
      asked = true;
      return item('prompt', t.rolePrompt, turn.prefix ? h('mark', { class: turn.lost ? 'healing' : 'history' }, turn.lost ? t.healing([...turn.prefix].length) : t.history([...turn.prefix].length)) : null,
        h('span', null, turn.question));
    }));
}
