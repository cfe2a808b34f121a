package feishusim

import (
	"fmt"
	"slices"
)

// directory has the people of the tenant and the chats.
type directory struct {
	users   []User
	chats   []*chat
	byID    map[string]*chat
	private map[string]*chat // by the user's open id

	departments       map[string]*department // by id
	departmentsByUser map[string][]string    // departments of a person, by open ID
}

// chat is a Chat with its hidden state.
type chat struct {
	Chat
	dissolved bool
	silence   int // the code with which it refuses the bot's messages; 0 = it accepts them
}

func (c *chat) private() bool { return c.Mode == "p2p" }

// writable returns the reason why the bot cannot write into the chat.
func (c *chat) writable() *refusal {
	switch {
	case c.dissolved:
		return refuse("", codeDissolved, "Your request specifies a chat which has already been dissolved.")
	case !c.BotIn:
		return refuse("", codeBotNotInChat, "Bot/User can NOT be out of the chat.")
	}
	return nil
}

func (d *directory) newChat(c Chat) *chat {
	c.ID = newID("oc_")
	c.BotIn = true
	c.Members = slices.Clone(c.Members)
	made := &chat{Chat: c}
	d.chats = append(d.chats, made)
	d.byID[c.ID] = made
	return made
}

func (d *directory) privateChat(u User) *chat {
	c := d.private[u.OpenID]
	if c == nil {
		c = d.newChat(Chat{Mode: "p2p", Members: []User{u}})
		d.private[u.OpenID] = c
	}
	return c
}

func (d *directory) chat(id string) *chat { return d.byID[id] }

// mustChat is for the API of tests, where a wrong ID is a bug of the test.
func (d *directory) mustChat(id string) *chat {
	c := d.chat(id)
	if c == nil {
		panic(fmt.Sprintf("feishusim: no chat %q", id))
	}
	return c
}

// user finds a person by one of the ids.
func (d *directory) user(id string) *User {
	for i := range d.users {
		if u := &d.users[i]; id != "" && (id == u.OpenID || id == u.UserID || id == u.UnionID) {
			return u
		}
	}
	return nil
}

// memberOf returns a chat that the bot is in, for the chat APIs. Their codes differ from those of the
// message API, see writable.
func (d *directory) memberOf(id string) (*chat, *refusal) {
	c := d.chat(id)
	switch {
	case c == nil:
		return nil, refuse(RuleUnknownID, codeField, "no chat %q", id)
	case c.dissolved:
		return nil, refuse("", codeDissolved, "Your request specifies a chat which has already been dissolved.")
	case !c.BotIn:
		return nil, refuse("", codeNotMember, "Operator can NOT be out of the chat.")
	}
	return c, nil
}

// receiver finds the chat to write to. Writing to a user opens the private chat.
func (d *directory) receiver(idType, id string) (*chat, *refusal) {
	if idType == "chat_id" {
		c := d.chat(id)
		if c == nil {
			return nil, refuse(RuleUnknownID, codeParam,
				"Your request contains an invalid request parameter, ext=invalid receive_id")
		}
		return c, nil
	}
	u := d.user(id)
	if u == nil {
		return nil, refuse(RuleUnknownID, codeUnknownOpenID,
			"The request you send is not a valid {%s} or not exists: %q", idType, id)
	}
	if want, ok := u.id(idType); !ok || want != id {
		return nil, refuse(RuleField, codeField, "field validation failed: receive_id %q is no %s", id, idType)
	}
	return d.privateChat(*u), nil
}

// id returns the id of a kind; "" is the platform's default, open_id.
func (u User) id(kind string) (string, bool) {
	switch kind {
	case "", "open_id":
		return u.OpenID, true
	case "user_id":
		return u.UserID, true
	case "union_id":
		return u.UnionID, true
	}
	return "", false
}
