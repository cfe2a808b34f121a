package feishusim

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Sizes of contents (doc: im-v1/message/create).
const (
	maxText = 150 << 10
	maxPost = 30 << 10
)

// postTags are the tags that a sent post may use (doc: message-content-description/create_json).
var postTags = []string{"text", "a", "at", "img", "media", "emotion", "hr", "code_block", "md"}

// compose makes a message of the bot; the caller sets its chat and stores it.
func (a *imAPI) compose(q *request, msgType, content string) (*message, *refusal) {
	now := time.Now()
	m := &message{updated: now, Message: Message{ID: newID("om_"), Type: msgType, Sender: a.world.bot, FromBot: true,
		Created: now, Content: content}}
	if msgType == "interactive" {
		return m, a.composeCard(q, m)
	}
	if bad := a.world.files.check(q, msgType, content); bad != nil {
		return nil, bad
	}
	called := a.called(msgType, content)
	for _, c := range called {
		m.Calls = append(m.Calls, c.user.OpenID)
	}
	m.recordState("create", visibleContent(msgType, content, called), nil, false)
	return m, nil
}

// called are the users that a text of the bot mentions. The platform notifies those it knows.
func (a *imAPI) called(msgType, content string) (list []mention) {
	p, ok := parsePost(content)
	if msgType != "post" || !ok {
		return nil
	}
	for _, line := range p.Content {
		for _, node := range line {
			if u := a.world.user(text(node["user_id"])); node["tag"] == "at" && u != nil {
				list = append(list, mention{"@" + text(node["user_id"]), *u})
			}
		}
	}
	return list
}

// composeCard fills in a message that shows a card: an entity, a template, or inline JSON.
func (a *imAPI) composeCard(q *request, m *message) *refusal {
	var in struct {
		Type string `json:"type"`
		Data struct {
			CardID     string `json:"card_id"`
			TemplateID string `json:"template_id"`
		} `json:"data"`
	}
	// An inline card is JSON without these members, and anything that is not JSON at all fails in inlineCard, so the
	// error can be ignored here.
	_ = json.Unmarshal([]byte(m.Content), &in)
	switch in.Type {
	case "card":
		return a.attach(in.Data.CardID, m)
	case "template":
		if in.Data.TemplateID == "" {
			return refuse(RuleCard, codeCardRefused,
				"Failed to create card content, ext=ErrCode: 200380; ErrMsg: template is not found; ")
		}
		m.recordState("create", "[template "+in.Data.TemplateID+"]", json.RawMessage(m.Content), false)
		return nil
	}
	root, bad := a.inlineCard(q, m.Content)
	if bad == nil {
		m.showCard(root, "create")
	}
	return bad
}

// attach shows a card entity in a message. An entity can be sent once (doc: cardkit-v1/card/create).
func (a *imAPI) attach(cardID string, m *message) *refusal {
	e := a.world.cards[cardID]
	switch {
	case e == nil:
		return refuse(RuleUnknownID, codeCardRefused,
			"Failed to create card content, ext=ErrCode: %d; ErrMsg: card entity is not found; ", codeKitNone)
	case e.message != nil:
		return refuse(RuleSentTwice, codeCardRefused,
			"Failed to create card content, ext=ErrCode: %d; ErrMsg: card entity was sent already; ", codeCardExceeds)
	case time.Since(e.created) > updatable:
		return refuse("", codeCardRefused,
			"Failed to create card content, ext=ErrCode: %d; ErrMsg: card entity has expired; ", codeKitExpired)
	}
	e.message = m
	m.CardID, m.entity = cardID, e
	e.recordState("create")
	return nil
}

// inlineCard parses and checks the card JSON of a message.
func (a *imAPI) inlineCard(q *request, content string) (map[string]any, *refusal) {
	root, f := parseCard(content)
	if f == nil {
		f = checkCard(root, a.world.files.ownImage)
	}
	if f != nil {
		return nil, f.inMessage()
	}
	q.noteAtAll(root)
	q.noteLinks(root)
	return root, nil
}

// shared reports whether all viewers see updates of the card: always in schema 2.0, on request in the old one.
func shared(root map[string]any) bool {
	return root["schema"] == schemaV2 || member(root, "config", "update_multi") == true
}

// noteAtAll records a card or text that pings everyone. The platform allows it, but text from a model must never do it.
func (q *request) noteAtAll(node any) {
	switch n := node.(type) {
	case string:
		if pingsAll(n) {
			q.violate(RuleAtAll, "%s %s pings everybody", q.Method, q.URL.Path)
		}
	case []any:
		for _, x := range n {
			q.noteAtAll(x)
		}
	case map[string]any:
		for _, x := range n {
			q.noteAtAll(x)
		}
	}
}

// check checks the content of every type but cards.
func (fs *files) check(q *request, msgType, content string) *refusal {
	var c map[string]any
	if err := json.Unmarshal([]byte(content), &c); err != nil {
		return refuse(RuleContent, codeParam,
			"Your request contains an invalid request parameter, ext=content is not a string in json format: %v", err)
	}
	q.noteAtAll(c)
	switch msgType {
	case "text":
		return checkText(content, c)
	case "post":
		return fs.checkPost(content, c)
	case "image":
		return fs.checkKey(text(c["image_key"]), msgType)
	case "file", "audio", "sticker", "media":
		return fs.checkKey(text(c["file_key"]), msgType)
	case "share_chat", "share_user", "system":
		return nil
	}
	return refuse(RuleField, codeParam,
		"Your request contains an invalid request parameter, ext=invalid msg_type %q", msgType)
}

// checkText counts the whole content, with its JSON around the text: that is what the platform limits.
func checkText(content string, c map[string]any) *refusal {
	switch t, ok := c["text"].(string); {
	case !ok:
		return refuse(RuleContent, codeParam,
			"Your request contains an invalid request parameter, ext=content has no text")
	case strings.TrimSpace(t) == "":
		return refuse(RuleEmpty, codeParam, "Your request contains an invalid request parameter, ext=text is empty")
	case len(content) > maxText:
		return refuse(RuleSize, codeTooLong, "The length of the message content reaches its limit.")
	}
	return nil
}

// checkPost checks rich text: languages around, lines of nodes inside.
func (fs *files) checkPost(content string, c map[string]any) *refusal {
	if len(content) > maxPost {
		return refuse(RuleSize, codeTooLong, "The length of the message content reaches its limit.")
	}
	langs := 0
	for lang, body := range c {
		if !slices.Contains(postLanguages, lang) {
			return refuse(RuleContent, codeParam,
				"Your request contains an invalid request parameter, ext=post language %q", lang)
		}
		langs++
		lines, ok := member(body, "content").([]any)
		if !ok || len(lines) == 0 {
			return refuse(RuleEmpty, codeParam,
				"Your request contains an invalid request parameter, ext=post content is empty")
		}
		for _, line := range lines {
			if bad := fs.checkPostLine(line); bad != nil {
				return bad
			}
		}
	}
	if langs == 0 {
		return refuse(RuleEmpty, codeParam,
			"Your request contains an invalid request parameter, ext=post without language")
	}
	return nil
}

func (fs *files) checkPostLine(line any) *refusal {
	nodes, ok := line.([]any)
	if !ok {
		return refuse(RuleContent, codeParam,
			"Your request contains an invalid request parameter, ext=a line of a post is not a list")
	}
	for _, n := range nodes {
		switch tag := text(member(n, "tag")); {
		case !slices.Contains(postTags, tag):
			return refuse(RuleContent, codeParam,
				"Your request contains an invalid request parameter, ext=post tag %q", tag)
		case tag == "at" && text(member(n, "user_id")) == "":
			return refuse(RuleContent, codeParam,
				"Your request contains an invalid request parameter, ext=at without user_id")
		case tag == "img" && !fs.ownImage(text(member(n, "image_key"))):
			return refuse(RuleImage, codeNotOwnResource, "Bot is NOT the owner of the resource.")
		case tag == "a" || tag == "md":
			if bad := checkHref(n); bad != nil {
				return bad
			}
			c := cardCheck{ownImage: fs.ownImage}
			if c.markdown(text(member(n, "text"))); c.flaw != nil {
				return c.flaw.inMessage()
			}
		}
	}
	return nil
}
