// The tour: six steps that show what the bridge is for. Each step is a row of acts. What is pressed on the tour's
// button the visitor could do by hand as well: an act is over when the chat shows that it was done, or that no more
// comes of it.

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
  walk(message.card);
  return found;
}

const there = chat => chat.messages.filter(m => !m.deleted);

// waiting says that a card asks for a decision, whoever asked for what it is about.
const waiting = chat => there(chat).some(m => m.bot && buttons(m).includes('allow'));

// quiet says that nothing is being worked on or asked.
const quiet = chat => !waiting(chat) && !there(chat).some(m => (m.bot && m.streaming) || (m.reactions || []).includes('Typing'));

// since are the messages from the one on that was asked in the act.
function since(chat, mark) {
  const first = chat.messages.findIndex(m => m.id === mark.asked);
  return first < 0 ? [] : chat.messages.slice(first);
}

// over says that no more comes of what was asked: it was answered in whatever way, or went into another answer. The
// owner's welcome, which may come later than the first question, is no answer.
const over = (chat, mark) => quiet(chat) && since(chat, mark).some(m => (m.bot && m.parent === mark.asked) || m.reactions);

// --------------------------------------------------------------- the acts

const ask = (text, until = over) => ({ run: () => say(text()), until: (c, m) => until(c, m) || over(c, m) });
const decide = { decides: true, run: () => true, until: quiet };

// show brings what waits for a decision into view.
function show() {
  const list = document.querySelectorAll('#messages [data-do="allow"]:not(:disabled)');
  const button = list[list.length - 1];
  if (!button) return;
  button.scrollIntoView({ block: 'center' });
  button.focus();
  button.classList.add('pointed');
}

// steps is a function, as the words depend on the language. The second argument of until is the mark.
function steps() {
  const w = t.tourWords;
  return [
    [ask(() => w.fix, waiting)],
    [decide],
    [{ run: lose, until: () => !$('lose-session').disabled }, ask(() => w.first)],
    [ask(() => w.story, (c, m) => since(c, m).some(x => x.bot && x.text.length > 60)),
      { run: kill, until: (c, m) => model.bridge.kills > m.kills && model.bridge.state === 'running' && model.connections > 0 && quiet(c) }],
    [ask(() => w.form, waiting), decide, ask(() => w.plan, waiting), decide],
    [ask(() => w.remember), ask(() => '/new'), ask(() => w.recall)],
  ];
}

// --------------------------------------------------------------- where the visitor is

// place is {step, act, mark, closed}; mark is {kills, asked}: how often the bridge had been killed, and the message that was
// sent. It is null before the act's button was pressed.
const begin = { step: 0, act: 0, mark: null, closed: false };
let place = kept('tour') || begin;

function goTo(next) {
  place = { ...place, ...next };
  keep('tour', place);
}

function home() { return model.chats[0]; }

function now() { return (steps()[place.step] || [])[place.act]; }

// goOn goes to the next act. A decision is about what was just asked.
function goOn() {
  const last = place.act + 1 >= steps()[place.step].length;
  goTo(last ? { step: place.step + 1, act: 0 } : { act: place.act + 1 });
  if (!(now() || {}).decides) goTo({ mark: null });
}

// follow goes on when the chat shows that an act is over. A question that was recalled may be asked again.
function follow() {
  const chat = home(), act = now(), mark = place.mark;
  if (!chat || !act || mark === null) return;
  if (chat.messages.some(m => m.deleted && m.id === mark.asked)) goTo({ mark: null });
  else if (act.until(chat, mark)) {
    goOn();
    follow(); // there may be nothing to decide
  }
}

// --------------------------------------------------------------- painting

let openHome = () => {};

// run does what the tour's button says. What waits for a decision comes first, and nothing keeps a visitor in an act.
async function run() {
  const act = now(), chat = home();
  if (!act) goTo({ step: 0, act: 0, mark: null });
  else if (waiting(chat)) { openHome(); show(); }
  else if (place.mark !== null) goOn();
  else {
    openHome();
    const mark = { kills: model.bridge.kills || 0 };
    const doing = act.run();
    goTo({ mark });
    paintTour();
    const done = await doing;
    if (place.mark === mark) goTo({ mark: done ? { ...mark, asked: done.message } : null });
  }
  paintTour();
}

export function paintTour() {
  if (home() && place.home !== home().id) goTo({ ...begin, home: home().id }); // another playground than the last time
  follow();
  const box = $('tour');
  box.hidden = place.closed || !model.loaded || !model.simulated;
  $('tour-open').hidden = !model.simulated || !place.closed;
  const over = place.step >= steps().length;
  const decides = home() && waiting(home());
  const key = [t.title, place.step, place.act, place.mark !== null, decides].join();
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
  $('tour-do').textContent = over ? t.tourAgain : decides ? t.tourShow : place.mark !== null ? t.tourSkip : act.label || t.tourShow;
  $('tour-do').dataset.busy = place.mark !== null && !decides ? '1' : '';
  $('tour-close').setAttribute('aria-label', t.tourClose);
}

// tour starts the tour; open shows the chat in which it takes place.
export function tour(open) {
  openHome = open;
  $('tour-do').addEventListener('click', e => { if (e.detail < 2) run(); }); // the second of two skips nothing
  $('tour-close').addEventListener('click', () => { goTo({ closed: true }); paintTour(); });
  $('tour-open').addEventListener('click', () => { goTo({ closed: false, step: place.step % steps().length }); paintTour(); });
}
