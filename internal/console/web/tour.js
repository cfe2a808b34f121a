// The tour: six steps that show what the bridge is for. Each step is a row of acts. What is pressed on the tour's
// button the visitor could do by hand as well: an act is over when the chat shows that it was done.

import { say } from './compose.js';
import { kill, lose } from './context.js';
import { $, h } from './dom.js';
import { keep, kept, model } from './model.js';
import { t } from './texts.js';

// --------------------------------------------------------------- what the chat shows

// buttons are the buttons of a card that can be pressed, by what they do.
function buttons(message) {
  const found = [];
  const walk = node => {
    if (Array.isArray(node)) node.forEach(walk);
    else if (node && typeof node === 'object') {
      if (node.tag === 'button' && !node.disabled) for (const b of node.behaviors || []) if (b.value) found.push(b.value.do);
      Object.entries(node).forEach(([k, v]) => { if (k !== 'behaviors') walk(v); });
    }
  };
  if (message.card && !message.deleted) walk(message.card);
  return found;
}

// since are the messages after the one that was the last when the act began.
function since(chat, mark) { return chat.messages.slice(chat.messages.findIndex(m => m.id === mark.message) + 1); }

const asks = m => buttons(m).includes('allow');
const cards = list => list.filter(m => m.bot && m.card && !m.deleted);
const waiting = (chat, mark) => cards(since(chat, mark)).find(asks);
const writing = list => cards(list).find(m => m.streaming);

// answered says that something was answered since, and nothing is being worked on or asked any more.
function answered(chat, mark) {
  const list = since(chat, mark);
  return list.some(m => m.bot && !m.deleted) && !writing(list) && !list.some(asks) && !chat.messages.some(m => (m.reactions || []).includes('Typing'));
}

const says = (chat, words) => cards(chat.messages).some(m => !m.streaming && words.test(m.text));

// --------------------------------------------------------------- the acts

const ask = (text, until) => ({ run: () => say(text()), until });
const point = (find, until) => ({ points: true, run: () => show(find), until });

// show brings a button of the chat's newest card into view.
function show(find) {
  const list = document.querySelectorAll('#messages [data-do="' + find + '"]:not(:disabled)');
  const button = list[list.length - 1];
  if (!button) return;
  button.scrollIntoView({ block: 'center' });
  button.focus();
  button.classList.add('pointed');
}

// steps is a function, as the words depend on the language. The third argument of until is what the act began with.
function steps() {
  const w = t.tourWords;
  return [
    [ask(() => w.fix, (c, m) => waiting(c, m))],
    [point('allow', (c, m) => answered(c, { message: m.asked || m.message }))],
    [{ run: lose, until: (c, m) => !$('lost-line').hidden && $('lost-line').textContent !== m.lost },
      ask(() => w.first, (c, m) => answered(c, m) && c.turns.some(x => x.turn > m.turn && x.lost))],
    [ask(() => w.story, (c, m) => cards(since(c, m)).some(x => x.text.length > 60)),
      { run: kill, until: (c, m) => model.bridge.kills > m.kills && model.bridge.state === 'running' && model.connections > 0 && says(c, w.storyEnd) }],
    [ask(() => w.form, (c, m) => waiting(c, m)), point('allow', (c, m) => answered(c, { message: m.asked || m.message })),
      ask(() => w.plan, (c, m) => waiting(c, m)), point('allow', (c, m) => answered(c, { message: m.asked || m.message }))],
    [ask(() => w.remember, answered), ask(() => '/new', answered), ask(() => w.recall, (c, m) => answered(c, m) && says(c, w.recalled))],
  ];
}

// --------------------------------------------------------------- where the visitor is

// place is {step, act, mark, closed}; mark is what the act began with, and null before its button was pressed.
const begin = { step: 0, act: 0, mark: null, closed: false };
let place = kept('tour') || begin;

function goTo(next) {
  place = { ...place, ...next };
  keep('tour', place);
}

function home() { return model.chats[0]; }

function markOf(chat) {
  const last = chat.messages.at(-1);
  return { message: last ? last.id : '', turn: chat.turns.length > 0 ? chat.turns[0].turn : 0, kills: model.bridge.kills || 0, lost: $('lost-line').textContent,
    asked: place.asked };
}

// follow goes on to the next act when the chat shows that this one was done.
function follow() {
  const chat = home(), list = steps()[place.step];
  if (!chat || !list || place.mark === null) return;
  const act = list[place.act];
  if (act && !act.until(chat, place.mark)) return;
  // An act that answers what the last one has asked looks at what came after the question.
  const asked = place.mark.message;
  if (place.act + 1 < list.length) goTo({ act: place.act + 1, mark: null, asked });
  else goTo({ step: place.step + 1, act: 0, mark: null, asked });
  const next = (steps()[place.step] || [])[place.act];
  if (next && next.points) goTo({ mark: markOf(chat) }); // it may be done by hand
}

// --------------------------------------------------------------- painting

let openHome = () => {};

function run() {
  const act = (steps()[place.step] || [])[place.act];
  if (!act || (place.mark !== null && !act.points)) return; // asked once is enough
  openHome();
  goTo({ mark: markOf(home()) });
  act.run();
  paintTour();
}

export function paintTour() {
  if (home() && place.home !== home().id) goTo({ ...begin, home: home().id }); // another playground than the last time
  follow();
  const box = $('tour');
  box.hidden = place.closed || !model.loaded || !model.simulated;
  $('tour-open').hidden = !model.simulated || !place.closed;
  const over = place.step >= steps().length;
  const key = [t.title, place.step, place.act, place.mark !== null].join();
  if (box.magpieKey === key) return;
  box.magpieKey = key;
  box.dataset.step = over ? 'over' : place.step + 1;
  box.dataset.act = place.act + 1;
  const words = over ? t.tourOver : t.tour[place.step];
  const act = over ? null : words.acts[place.act];
  $('tour-steps').replaceChildren(...t.tour.map((s, i) => h('li', null,
    h('button', { type: 'button', title: s.title, 'aria-label': t.stepOf(i + 1, s.title), 'aria-current': i === place.step ? 'step' : null, 'data-done': i < place.step ? '1' : null,
      onclick: () => { goTo({ step: i, act: 0, mark: null }); paintTour(); } }, String(i + 1)))));
  $('tour-title').textContent = words.title;
  $('tour-text').textContent = act ? act.text : words.text;
  $('tour-do').textContent = over ? t.tourAgain : act.label;
  $('tour-do').dataset.busy = place.mark !== null && !points() ? '1' : '';
  $('tour-close').setAttribute('aria-label', t.tourClose);
}

function points() {
  const act = (steps()[place.step] || [])[place.act];
  return Boolean(act && act.points);
}

// tour starts the tour; open shows the chat in which it takes place.
export function tour(open) {
  openHome = open;
  $('tour-do').addEventListener('click', () => {
    if (place.step < steps().length) return run();
    goTo({ step: 0, act: 0, mark: null });
    return paintTour();
  });
  $('tour-close').addEventListener('click', () => { goTo({ closed: true }); paintTour(); });
  $('tour-open').addEventListener('click', () => { goTo({ closed: false, step: place.step % steps().length }); paintTour(); });
}
