package console

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"magpie/internal/console/consoletest"
)

// composing is a page with its composer.
type composing struct {
	*consoletest.Browser
	*playgroundRig
}

func (c composing) key(keys string) { c.Type("#composer", keys) }

// send appends to the text in the composer, and sends it.
func (c composing) send(more string) {
	c.key(more)
	c.Press("#send")
}

// deed clicks an action of the newest message of the speaker.
func (c composing) deed(name string) {
	c.Press(`.message.mine .more:not([hidden])`)
	c.Press(fmt.Sprintf(`.message.mine [data-deed=%q]`, name))
}

// carry dispatches an event with a file to an element.
func (c composing) carry(event, element, name string, data []byte) {
	c.Eval(fmt.Sprintf(`(() => {
		const bytes = Uint8Array.from(atob(%q), b => b.charCodeAt(0)), data = new DataTransfer();
		data.items.add(new File([bytes], %q));
		const brings = { dataTransfer: data, clipboardData: data, bubbles: true, cancelable: true };
		document.querySelector(%q).dispatchEvent(%q === 'paste' ? new ClipboardEvent('paste', brings) : new DragEvent('drop', brings));
	})()`, base64.StdEncoding.EncodeToString(data), name, element, event))
}

func TestWritingOnThePage(t *testing.T) {
	s := serve(t, PlaygroundConfig{Commands: []Command{
		{"/new", "开始新对话", "start anew"}, {"/help", "帮助", "help"}, {"/history", "历史", "history"},
	}})
	c := composing{consoletest.Browse(t, s.url), s}
	c.Until(`document.querySelector('#chat-1[aria-current=true]')`)
	c.completes()
	c.attaches(t)
	c.relates(t)
	c.countsUnread()
	c.RefuteBarriers("writing")
	c.RefuteComplaints()
}

// completes chooses a command from the list with the keyboard.
func (c composing) completes() {
	c.key("/h")
	c.Until(`[...document.querySelectorAll('#commands [role=option]')].map(o => o.textContent).join() === '/help帮助,/history历史'`)
	c.key(kb.ArrowDown)
	c.Until(`document.querySelector('#commands [aria-selected=true]').textContent === '/history历史'`)
	// an event without the character that the test keyboard would type, even if the page handles the key
	c.Eval(`document.querySelector('#composer').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', cancelable: true }))`)
	c.Until(`document.querySelector('#composer').value === '/history ' && document.querySelector('#commands').hidden`)
	c.send("5")
	c.Until(`document.querySelector('.message.mine .bubble').textContent === '/history 5'`)
}

// attaches pastes a picture, drops a file, and sends both with a text, which comes last.
func (c composing) attaches(t *testing.T) {
	t.Helper()
	c.carry("paste", "#composer", "shot.png", picture(t))
	c.carry("drop", "#messages", "notes.txt", []byte("one"))
	c.carry("drop", "#messages", "wrong.txt", []byte("two"))
	c.Until(`document.querySelectorAll('.pending').length === 3`)
	c.Press(`.pending button`) // the last one is removed again
	c.send("what is this?")
	c.Until(`[...document.querySelectorAll('.message.mine')].at(-1).querySelector('.bubble').textContent === 'what is this?'`)
	c.Until(`(img => img.complete && img.naturalWidth === 3)(document.querySelector('.message.mine img.shot'))`)
	c.Until(`document.querySelector('.message.mine a.file[download="notes.txt"]').textContent.includes('3 B')`)
	if n := len(c.sim.Messages(c.sim.Chats()[0].ID)); n != 4 {
		t.Errorf("%d messages", n)
	}
}

// relates quotes a message, edits, reacts, starts a topic, and recalls.
func (c composing) relates(t *testing.T) {
	t.Helper()
	c.deed("quote")
	c.Until(`document.querySelector('.pending').textContent.includes('what is this?')`)
	c.send("I mean this")
	c.Until(`[...document.querySelectorAll('.message.mine .quoted')].at(-1).textContent.includes('what is this?')`)
	c.deed("edit")
	c.Until(`document.querySelector('#composer').value === 'I mean this'`)
	c.send(" one")
	c.Until(`[...document.querySelectorAll('.message.mine .bubble')].at(-1).textContent === 'I mean this one'`)
	c.deed("THUMBSUP")
	c.Until(`document.querySelector('.reaction[data-emoji=THUMBSUP]').textContent === '👍'`)
	c.deed("topic")
	c.send("aside")
	c.Until(`[...document.querySelectorAll('.message.mine')].at(-1).classList.contains('in-topic')`)
	c.deed("recall")
	c.Until(`[...document.querySelectorAll('.message.mine')].at(-1).classList.contains('recalled')`)
}

// countsUnread checks the number of unread messages of another chat.
func (c composing) countsUnread() {
	chat := c.sim.Chats()[4]
	c.sim.Say(chat.ID, chat.Members[1], "one")
	c.sim.Say(chat.ID, chat.Members[1], "two")
	c.Until(`document.querySelector('#chat-5 .unread:not([hidden])').textContent === '2'`)
	c.Press("#chat-5")
	c.Until(`document.querySelector('#chat-5 .unread').hidden`)
}
