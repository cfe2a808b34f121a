package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func newTopics(t *testing.T) (*platform, feishusim.User, *recorder) {
	p := newPlatform(t, feishusim.Config{})
	p.Client = p.configured(Config{Topics: true})
	return p, p.AddUser("Ann"), newRecorder()
}

// topic is the topic of a message.
func (p *platform) topic(id string) string {
	p.t.Helper()
	m, ok := p.Server.Message(id)
	if !ok || m.ThreadID == "" {
		p.t.Fatalf("message %s is in no topic", id)
	}
	return m.ThreadID
}

func TestATopicIsAChatOfItsOwn(t *testing.T) {
	p, ann, rec := newTopics(t)
	room, forum := p.Group("team", ann), p.TopicGroup("forum", ann)
	p.run(rec)
	plain := p.Say(room, ann, "in the chat")
	if m := next(t, rec.messages); m.Key != chat.FeishuChat(room) {
		t.Errorf("in the chat: %v", m.Key)
	}
	inside := p.Say(room, ann, "in its topic", feishusim.ReplyTo(plain), feishusim.Thread(feishusim.NewThread))
	if m := next(t, rec.messages); m.Key.Thread != p.topic(inside) || m.Key.Parent() != chat.FeishuChat(room) {
		t.Errorf("in the topic: %v", m.Key)
	}
	p.Redeliver(plain, true)
	if m := next(t, rec.messages); m.Key != chat.FeishuChat(room) {
		t.Errorf("delivered again, the topic's first message belongs to %v", m.Key)
	}
	first := p.Say(forum, ann, "a topic")
	if m := next(t, rec.messages); m.Key.Thread != p.topic(first) {
		t.Errorf("in a group of topics: %v", m.Key)
	}
	p.Client = p.another() // without topics
	if key, err := p.Client.topics.chatOf(p.ctx(), rawMessage{chat: room, thread: "omt_1"}); key.Thread != "" ||
		err != nil {
		t.Errorf("without topics: %v, %v", key, err)
	}
	p.clean()
}

// All answers in a topic stay there: texts, cards with several pages, files, and messages that answer nothing.
func TestAnswersStayInTheTopic(t *testing.T) {
	p, ann, _ := newTopics(t)
	room := p.Group("team", ann)
	root := p.Say(room, ann, "root")
	ask := p.Say(room, ann, "here", feishusim.ReplyTo(root), feishusim.Thread(feishusim.NewThread))
	key := chat.FeishuChat(room)
	key.Thread = p.topic(ask)
	to := chat.Ref{Key: key, ID: ask}
	_, err := p.Reply(p.ctx(), to, "words", "words")
	p.must(err)
	_, err = p.Reply(p.ctx(), chat.Ref{Key: key}, "to nobody", "nobody")
	p.must(err)
	name, err := p.Client.Upload(p.ctx(), chat.Ref{}, chat.Upload{Name: "a.txt", Data: []byte("a")})
	p.must(err)
	_, err = p.Attach(p.ctx(), to, name, "caption", "file")
	p.must(err)
	card, err := p.Client.Post(p.ctx(), to, chat.Card{Live: true, Body: "begun"}, "card")
	p.must(err)
	p.cards.drop(card) // as after a restart
	p.must(p.Client.Close(p.ctx(), card, chat.Card{Body: strings.Repeat("a line of a long answer\n", 2500)}))
	got := p.answers(room)
	if len(got) < 6 {
		t.Fatalf("%d answers", len(got))
	}
	for _, m := range got {
		if m.ThreadID != key.Thread {
			t.Errorf("%s %q stands in %q", m.Type, m.Text()[:min(20, len(m.Text()))], m.ThreadID)
		}
	}
	p.clean()
}

// Inside a topic, Find lists everything that follows the question, and nothing before it.
func TestFindInsideATopic(t *testing.T) {
	p, ann, _ := newTopics(t)
	room := p.Group("team", ann)
	root := p.Say(room, ann, "root", feishusim.Time(time.Now().Add(-time.Hour)))
	before := p.Say(room, ann, "before", feishusim.ReplyTo(root), feishusim.Thread(feishusim.NewThread),
		feishusim.Time(time.Now().Add(-time.Minute)))
	key := chat.FeishuChat(room)
	key.Thread = p.topic(before)
	early, err := p.Reply(p.ctx(), chat.Ref{Key: key, ID: before}, "early", "early")
	p.must(err)
	m, _ := p.Server.Message(early)
	at := m.Created.Add(time.Millisecond) // the resolution of the platform's times
	ask := p.Say(room, ann, "ask", feishusim.Thread(key.Thread), feishusim.Time(at))
	for time.Now().Before(at) {
		runtime.Gosched()
	}
	late, err := p.Reply(p.ctx(), chat.Ref{Key: key, ID: ask}, "late", "late")
	p.must(err)
	for id, want := range map[string][]string{ask: {late}, before: {early, late}, root: {early, late}} {
		found, err := p.Find(p.ctx(), chat.Ref{Key: key, ID: id})
		p.must(err)
		var got []string
		for _, s := range found {
			got = append(got, s.ID)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("found %v, want %v", got, want)
		}
	}
	p.clean()
}

// The backfill asks for missed messages of a topic there. A topic's first message belongs to the chat and is handed
// over once.
func TestBackfillInTopics(t *testing.T) {
	p, ann, rec := newTopics(t)
	room, forum := p.Group("team", ann), p.TopicGroup("forum", ann)
	now := time.Now()
	root := p.Say(room, ann, "root", feishusim.Time(now.Add(-time.Minute)))
	inside := p.Say(room, ann, "inside", feishusim.ReplyTo(root), feishusim.Thread(feishusim.NewThread),
		feishusim.Time(now.Add(-50*time.Second)))
	lone := p.Say(forum, ann, "lone", feishusim.Time(now.Add(-40*time.Second)))
	topic, key := chat.FeishuChat(room), chat.FeishuChat(room)
	topic.Thread = p.topic(inside)
	rec.active = func() ([]chat.Activity, error) {
		since := now.Add(-2 * time.Minute)
		return []chat.Activity{
			{Key: key, Kind: chat.Group, Since: since}, {Key: topic, Kind: chat.Group, Since: since},
			{Key: chat.FeishuChat(forum), Kind: chat.Group, Since: since},
		}, nil
	}
	p.run(rec)
	got := map[string]chat.Key{}
	for range 3 {
		m := next(t, rec.messages)
		got[m.ID] = m.Key
	}
	want := chat.FeishuChat(forum)
	want.Thread = p.topic(lone)
	if got[root] != key || got[inside] != topic || got[lone] != want {
		t.Errorf("got %v", got)
	}
	if len(rec.messages) != 0 {
		t.Errorf("told twice: %+v", <-rec.messages)
	}
	p.clean()
}

// The owner of a group may turn it into one of topics, or into an ordinary one again.
func TestAGroupThatChangesItsKind(t *testing.T) {
	p, ann, rec := newTopics(t)
	room := p.Group("team", ann)
	p.run(rec)
	for _, topics := range []bool{false, true, false} {
		p.TurnIntoTopics(room, topics)
		p.Say(room, ann, "one")
		next(t, rec.messages)
		want := map[bool]groupMode{true: modeTopics, false: modeChat}[topics]
		if m, err := p.Client.topics.groupMode(p.ctx(), room); err != nil || m != want {
			t.Errorf("topics: %t, but the mode is %v, %v", topics, m, err)
		}
	}
}

// While the platform cannot say of which kind a group is, no kind is assumed.
func TestAnUnknownKindOfGroupIsNotGuessed(t *testing.T) {
	p, ann, _ := newTopics(t)
	room := p.TopicGroup("forum", ann)
	s := rawMessage{chat: room, thread: p.topic(p.Say(room, ann, "topic")), startsTopic: true, fromList: true}
	remove := p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Status: 503})
	if key, err := p.Client.topics.chatOf(p.ctx(), s); err == nil {
		t.Errorf("guessed %v", key)
	}
	remove()
	if key, err := p.Client.topics.chatOf(p.ctx(), s); err != nil || key.Thread != s.thread {
		t.Errorf("%v, %v", key, err)
	}
	calls := len(p.Calls())
	if _, err := p.Client.topics.chatOf(p.ctx(), s); err != nil || len(p.Calls()) != calls {
		t.Errorf("asked again: %v", err)
	}
}

// An app may not be allowed to read the kind of a group. Then the events decide.
func TestAGroupWhoseKindMayNotBeRead(t *testing.T) {
	p, ann, _ := newTopics(t)
	room := p.TopicGroup("forum", ann)
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Code: 99991672})
	s := rawMessage{chat: room, thread: p.topic(p.Say(room, ann, "topic")), startsTopic: true, fromList: true}
	for range 2 {
		if key, err := p.Client.topics.chatOf(p.ctx(), s); !errors.Is(err, errUnknownGroupMode) {
			t.Errorf("guessed %v, %v", key, err)
		}
	}
	if n := len(p.Calls()); n != 2 { // one for the token
		t.Errorf("%d calls", n)
	}
	if said, err := p.ListMessages(p.ctx(), chat.FeishuChat(room), chat.Group, time.Now().Add(-time.Hour),
		10); err != nil || len(said) != 0 {
		t.Errorf("said %v, %v", said, err)
	}
	event := s
	event.fromList = false
	for _, s := range []rawMessage{event, s} {
		if key, err := p.Client.topics.chatOf(p.ctx(), s); err != nil || key.Thread != s.thread {
			t.Errorf("%v, %v", key, err)
		}
	}
}

func TestWhatWasSaidInATopic(t *testing.T) {
	p, ann, _ := newTopics(t)
	room := p.Group("team", ann)
	now := time.Now()
	p.Say(room, ann, "elsewhere", feishusim.Time(now.Add(-time.Minute)))
	root := p.Say(room, ann, "root", feishusim.Time(now.Add(-50*time.Second)))
	inside := p.Say(room, ann, "inside", feishusim.ReplyTo(root), feishusim.Thread(feishusim.NewThread),
		feishusim.Time(now.Add(-40*time.Second)))
	key := chat.FeishuChat(room)
	key.Thread = p.topic(inside)
	for _, tt := range []struct {
		key  chat.Key
		want string
	}{{key, "root inside"}, {key.Parent(), "elsewhere root"}} {
		said, err := p.ListMessages(p.ctx(), tt.key, chat.Group, now.Add(-time.Hour), 50)
		p.must(err)
		var texts []string
		for _, m := range said {
			texts = append(texts, m.Text)
			if m.Text == "root" && m.Key.Thread != "" {
				t.Error("the first message moved to another chat")
			}
		}
		if strings.Join(texts, " ") != tt.want {
			t.Errorf("said in %v: %v", tt.key, texts)
		}
	}
	p.clean()
}

// A press does not name the topic of its card. The card of a turn needs no look-up.
func TestAPressKnowsItsTopic(t *testing.T) {
	p, ann, rec := newTopics(t)
	room := p.Group("team", ann)
	p.run(rec)
	root := p.Say(room, ann, "root")
	ask := p.Say(room, ann, "inside", feishusim.ReplyTo(root), feishusim.Thread(feishusim.NewThread))
	for range 2 {
		next(t, rec.messages)
	}
	key := chat.FeishuChat(room)
	key.Thread = p.topic(ask)
	button := func(turn int64) chat.Card {
		return chat.Card{
			Body: "press", Buttons: []chat.Button{{Label: "go", Action: chat.Action{Do: "help", Turn: turn}}},
		}
	}
	press := func(card string, turn int64) chat.Key {
		message, _, _ := strings.Cut(card, "/")
		value := map[string]any{"do": "help"}
		if turn != 0 {
			value["turn"] = turn
		}
		_, err := p.Press(p.ctx(), message, ann, value)
		p.must(err)
		return next(t, rec.presses).Key
	}
	card, err := p.Client.Post(p.ctx(), chat.Ref{Key: key, ID: ask}, button(0), "card")
	p.must(err)
	calls := len(p.Calls())
	if got := press(card, 0); got != key || len(p.Calls()) != calls {
		t.Errorf("pressed in %v, %d calls", got, len(p.Calls())-calls)
	}
	late, err := p.another().Post(p.ctx(), chat.Ref{Key: key, ID: ask}, button(0), "of another process")
	p.must(err)
	if got := press(late, 0); got != key {
		t.Errorf("a card of another process is in %v", got)
	}
	turns, err := p.another().Post(p.ctx(), chat.Ref{Key: key, ID: ask}, button(7), "of a turn")
	p.must(err)
	calls = len(p.Calls())
	if got := press(turns, 7); got != key.Parent() || len(p.Calls()) != calls {
		t.Errorf("a turn's card was looked up: %v", got)
	}
	p.clean()
}

// A card of the chat stays in the chat even if somebody starts a topic on it. A press is ignored while the topic of its
// card is unknown.
func TestAPressIsNotGuessed(t *testing.T) {
	p, ann, rec := newTopics(t)
	room := p.Group("team", ann)
	p.run(rec)
	ask := p.Say(room, ann, "question")
	button := chat.Card{Body: "press", Buttons: []chat.Button{{Label: "go", Action: chat.Action{Do: "help"}}}}
	card, err := p.another().Post(p.ctx(), chat.Ref{Key: chat.FeishuChat(room), ID: ask}, button, "card")
	p.must(err)
	message, _, _ := strings.Cut(card, "/")
	p.Say(room, ann, "in a topic on the card", feishusim.ReplyTo(message), feishusim.Thread(feishusim.NewThread))
	for range 2 {
		next(t, rec.messages)
	}
	for _, where := range []string{
		"/open-apis/im/v1/messages/", "/open-apis/im/v1/messages", "/open-apis/im/v1/chats/",
	} {
		remove := p.Inject(feishusim.Fault{Path: where, Status: 503})
		answer, err := p.Press(p.ctx(), message, ann, map[string]any{"do": "help"})
		p.must(err)
		if !strings.Contains(string(answer), "error") || len(rec.presses) != 0 {
			t.Errorf("without %s the press is answered %s, %d handed over", where, answer, len(rec.presses))
		}
		remove()
	}
	_, err = p.Press(p.ctx(), message, ann, map[string]any{"do": "help"})
	p.must(err)
	if got := next(t, rec.presses).Key; got != chat.FeishuChat(room) {
		t.Errorf("pressed in %v", got)
	}
	p.clean()
}

func TestATopicWithoutMessagesIsGone(t *testing.T) {
	p, ann, _ := newTopics(t)
	key := chat.FeishuChat(p.Group("team", ann))
	key.Thread = "omt_none"
	if _, err := p.Reply(p.ctx(), chat.Ref{Key: key}, "words", "idem"); err == nil {
		t.Error("sent to a topic that is gone")
	}
}

// Messages of other bots are handed over on request, the bot's own messages never.
func TestOtherBots(t *testing.T) {
	p, ann, rec := newTopics(t)
	p.Client = p.configured(Config{AnswerBots: true})
	other := p.AddApp("Other")
	room := p.Group("team", ann)
	p.run(rec)
	p.Say(room, other, "nobody meant")
	if m := next(t, rec.messages); !m.Actor.Bot || m.ToBot || m.Actor.ID != other.OpenID {
		t.Errorf("%+v", m)
	}
	p.Say(room, other, "you are meant", feishusim.Mention())
	if m := next(t, rec.messages); !m.Actor.Bot || !m.ToBot || m.ToOthers {
		t.Errorf("%+v", m)
	}
	card := json.RawMessage(`{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"deploy it"}]}}`)
	p.Send(room, other, "interactive", card, feishusim.Mention(), feishusim.MentionUsers(ann))
	if m := next(t, rec.messages); !m.ToBot || m.Text != "[卡片]\n@Ann deploy it" {
		t.Errorf("a card: %+v", m)
	}
	p.Send(room, other, "interactive", card, feishusim.MentionAll())
	if m := next(t, rec.messages); m.ToBot || !m.ToOthers || m.Text != "[卡片]\n@all deploy it" {
		t.Errorf("a card for everybody: %+v", m)
	}
	own := feishusim.User{OpenID: p.BotOpenID(), AppID: p.AppID(), Name: "self"}
	p.Say(room, own, "myself", feishusim.Mention())
	p.Say(room, ann, "a person")
	if m := next(t, rec.messages); m.Text != "a person" || m.Actor.Bot {
		t.Errorf("%+v", m)
	}
	said, err := p.ListMessages(p.ctx(), chat.FeishuChat(room), chat.Group, time.Now().Add(-time.Hour), 10)
	p.must(err)
	if len(said) != 5 || said[0].Actor != (chat.Actor{ID: other.OpenID, Name: "Other", Bot: true}) || said[4].Actor.Bot {
		t.Errorf("said %+v", said)
	}
	quiet := p.another()
	if _, ok := quiet.reader.incoming(rawMessage{id: "om_1", chat: room, senderType: "app", senderID: other.OpenID}); ok {
		t.Error("a message of another bot was handed over without a request")
	}
	p.clean()
}

func TestMentionsOfOthers(t *testing.T) {
	p, ann, rec := newTopics(t)
	bob := p.AddUser("Bob")
	room := p.Group("team", ann, bob)
	p.run(rec)
	post := json.RawMessage(`{"title":"","content":[[{"tag":"text","text":"go on"}]]}`)
	for _, tt := range []struct {
		name   string
		opts   []feishusim.SendOption
		others bool
	}{
		{"nobody", nil, false},
		{"the bot", []feishusim.SendOption{feishusim.Mention()}, false},
		{"everybody", []feishusim.SendOption{feishusim.MentionAll()}, true},
		{"another", []feishusim.SendOption{feishusim.MentionUsers(bob)}, true},
		{"the bot and another", []feishusim.SendOption{feishusim.Mention(), feishusim.MentionUsers(bob)}, false},
	} {
		p.Say(room, ann, "go on", tt.opts...)
		p.Server.Post(room, ann, post, tt.opts...)
		for range 2 {
			if m := next(t, rec.messages); m.ToOthers != tt.others {
				t.Errorf("%s: %+v", tt.name, m)
			}
		}
	}
	p.clean()
}

// Changes of the bot's membership are handed over, and again until one was handled.
func TestMembershipChanges(t *testing.T) {
	p := newPlatform(t, feishusim.Config{Redeliver: many(10 * time.Millisecond)})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.Group("team", ann)
	failing := &failsOnce{recorder: rec}
	p.run(failing)
	p.AddBot(room, ann)
	first, again := next(t, rec.changes), next(t, rec.changes)
	if first != again || first.Did != chat.Added || first.Key != chat.FeishuChat(room) ||
		first.Actor != (chat.Actor{ID: ann.OpenID, Name: "Ann"}) ||
		first.Title != "team" || time.Since(first.Time) > time.Minute || first.Kind != chat.Group {
		t.Errorf("%+v, then %+v", first, again)
	}
	p.RemoveBot(room, ann)
	if c := next(t, rec.changes); c.Did != chat.Removed {
		t.Errorf("%+v", c)
	}
	p.AddBot(room, ann)
	next(t, rec.changes)
	p.Disband(room, ann)
	if c := next(t, rec.changes); c.Did != chat.Dissolved {
		t.Errorf("%+v", c)
	}
	p.EnterChat(ann)
	if c := next(t, rec.changes); c.Did != chat.Opened || c.Kind != chat.Private || c.Key.ID != p.PrivateChat(ann) {
		t.Errorf("%+v", c)
	}
	p.clean()
}

type failsOnce struct {
	*recorder
	failed bool
}

func (f *failsOnce) HandleMembership(ctx context.Context, c chat.Change) error {
	_ = f.recorder.HandleMembership(ctx, c)
	if !f.failed {
		f.failed = true
		return errors.New("disk full")
	}
	return nil
}

// A message to a user goes to the private chat with this user.
func TestAMessageToAUser(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann := p.AddUser("Ann")
	to := chat.Ref{Key: chat.PersonKey(ann.OpenID)}
	_, err := p.Reply(p.ctx(), to, "hello", "idem")
	p.must(err)
	card, err := p.Client.Post(p.ctx(), to, chat.Card{Live: true, Body: "card"}, "card")
	p.must(err)
	p.cards.drop(card) // as after a restart
	p.must(p.Client.Close(p.ctx(), card, chat.Card{Body: strings.Repeat("a line of a long answer\n", 2500)}))
	if got := p.answers(p.PrivateChat(ann)); len(got) < 3 || got[0].Text() != "hello" {
		t.Errorf("%d messages", len(got))
	}
	p.clean()
}
