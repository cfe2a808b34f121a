package chat

import (
	"errors"
	"regexp"
	"strings"

	"magpie/internal/i18n"
)

// Every door has people, rooms, messages and cards whose ids it or its clients choose, so an id says which door it is
// of: no id of one door ever equals one of another. Those of Feishu, which was the only door for long, are bare, as the
// platform writes them: "ou_..." and "oc_...". Those of every other door begin with its channel and a colon, as in
// "cli:1000", and a room is the whole key of the chat. Each further app of Feishu is a door of its own, whose channel has
// the app's name: "feishu-sales:ou_...". Ids are made, read and told apart here; the rest of the program compares them as
// a whole.

// The channels that this package tells apart. The ids of feishu are bare.
const (
	feishu   = "feishu"
	Terminal = "cli"
	HTTP     = "http"
)

// The kinds of keys: a chat, or a person wherever he is reached. A door may have further kinds of chats.
const (
	aChat   = "chat"
	aPerson = "user"
)

// FeishuChat is the key of a Feishu chat (private or group) with the given chat id ("oc_...").
func FeishuChat(id string) Key { return Key{Channel: feishu, Kind: aChat, ID: id} }

var channelName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// AppChannel is the channel of an app of Feishu by its name. The one that has none is the app whose ids are bare.
func AppChannel(name string) string {
	if name == "" {
		return feishu
	}
	return feishu + "-" + name
}

// appName matches the names of further apps. It has no dash, so that a name is also part of a variable's.
var appName = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// IsAppName reports whether an app of Feishu can have this name.
func IsAppName(name string) bool { return appName.MatchString(name) }

// IsFurtherApp reports whether a channel is that of an app of Feishu that has a name.
func IsFurtherApp(channel string) bool { return isApp(channel) && channel != feishu }

// isApp reports whether a channel is that of an app of Feishu.
func isApp(channel string) bool { return channel == feishu || strings.HasPrefix(channel, feishu+"-") }

// ID is what a person, a message, a card or a department of a channel is called here whose door calls it own.
func ID(channel, own string) string {
	if channel == feishu || own == "" {
		return own
	}
	return channel + ":" + own
}

// OwnID is what the door of a channel calls what is called id here; see [ID].
func OwnID(channel, id string) string {
	if channel == feishu {
		return id
	}
	return strings.TrimPrefix(id, channel+":")
}

// PersonKey is the key of the bot's private chat with a person, whatever the id of that chat. It can only be used for
// sending: the person's messages arrive under the key of the chat. It is the zero key if nobody can have that id.
func PersonKey(id string) Key {
	channel, own, ok := strings.Cut(id, ":")
	if !ok {
		channel, own = feishu, id
	}
	if ValidID(own) != nil || ok && (channel == feishu || !channelName.MatchString(channel)) {
		return Key{}
	}
	return Key{Channel: channel, Kind: aPerson, ID: own}
}

// IsPerson reports whether a key is that of a person: see [PersonKey].
func (k Key) IsPerson() bool { return k.Kind == aPerson }

// ChannelOf is the channel to which an id of a person, a message or a card belongs. A colon later in an id says nothing:
// those of Feishu's cards in topics have one.
func ChannelOf(id string) string {
	if channel, _, ok := strings.Cut(id, ":"); ok && channelName.MatchString(channel) {
		return channel
	}
	return feishu
}

// IsRequest reports whether a message is a request of a program that waits for one answer, in the form of OpenAI's API.
func IsRequest(id string) bool { return strings.HasPrefix(id, HTTP+":v1-") }

// IsLocal reports whether what a channel brings comes from people of one machine, as at its terminal: those of another
// machine may have the same IDs. Feishu delivers to all machines, and tokens of HTTP are known to all.
func IsLocal(channel string) bool { return channel == Terminal }

// Channel is the channel at which something is shown: an answer goes where its question came from, whatever the chat's
// own channel is.
func (r Ref) Channel() string {
	if r.ID != "" {
		return ChannelOf(r.ID)
	}
	return r.Key.Channel
}

// IsElsewhere reports whether a message was written at another door than its chat's own.
func (r Ref) IsElsewhere() bool { return r.Channel() != r.Key.Channel }

// Owns reports whether a person's id is of the same door as a key. Only such people can be members of a chat.
func (k Key) Owns(person string) bool {
	return k.Channel != "" && PersonKey(person).Channel == k.Channel
}

// ErrOtherDoor means that an event names somebody who cannot have come through its door.
var ErrOtherDoor = errors.New("the person's id is not one of the door that the event came through")

// CheckActor returns [ErrOtherDoor] if an event names a person of another door than the one it came through. It may name
// nobody. An id that is bare because a door has forgotten its channel is not taken for one of Feishu, where nobody can
// reach the chats of other doors, nor those of another app.
func CheckActor(at Ref, who Actor) error {
	door := Key{Channel: at.Channel()}
	if who.ID != "" && !door.Owns(who.ID) || at.IsElsewhere() && isApp(door.Channel) {
		return ErrOtherDoor
	}
	return nil
}

// PartOf is the key of all chats of a channel, for sums; the zero key is that of all chats. That of the app without a
// name has those of all doors but the further apps.
func PartOf(channel string) Key { return Key{Channel: channel} }

// Beginning is how the keys begin, before a colon, of a chat with all its topics, or of a part of all chats; empty = any
// beginning. Keys that begin with without are not among them; empty = none.
func (k Key) Beginning() (with, without string) {
	switch {
	case k.Kind != "":
		return k.Parent().String(), ""
	case k.Channel == feishu:
		return "", feishu + "-"
	}
	return k.Channel, ""
}

// Room is the id of a chat, for a topic that of its chat, as rules about access name it.
func (k Key) Room() string {
	if k.Channel == feishu && k.Kind == aChat {
		return k.ID
	}
	return k.Parent().String()
}

// RuleID is how rules about access name what an app of Feishu calls own: a person, a chat or a department.
func RuleID(channel, own string) string {
	if strings.Contains(own, ":") {
		return own
	}
	if KindOf(own) == RoomID {
		return Key{Channel: channel, Kind: aChat, ID: own}.Room()
	}
	if KindOf(own) == "" { // everybody, or nobody
		return own
	}
	return ID(channel, own)
}

// ParseRoom is the key of the chat whose [Key.Room] is id.
func ParseRoom(id string) (Key, error) {
	k := FeishuChat(id)
	if strings.Contains(id, ":") {
		var err error
		if k, err = ParseKey(id); err != nil {
			return Key{}, err
		}
	}
	if k.Room() != id {
		return Key{}, i18n.Mistakef("聊天 %q：应写成 %s", "chat %q: must be written as %s", id, k.Room())
	}
	return k, k.Validate()
}

// IDKind is what an id in a rule about access names.
type IDKind string

// The kinds of ids. Only Feishu has departments.
const (
	UserID       IDKind = "user"
	RoomID       IDKind = "room"
	DepartmentID IDKind = "department"
)

// KindOf is what an id that somebody has written names; empty = nothing, so it is a mistake.
func KindOf(id string) IDKind {
	switch channel, own, ok := strings.Cut(id, ":"); {
	case !ok:
	case func() bool { _, err := ParseRoom(id); return err == nil }():
		return RoomID
	case PersonKey(id) == (Key{}):
		return ""
	case !isApp(channel):
		return UserID
	default:
		id = own
	}
	for prefix, kind := range map[string]IDKind{"ou_": UserID, "oc_": RoomID, "od_": DepartmentID} {
		if own, ok := strings.CutPrefix(id, prefix); ok && ValidID(own) == nil {
			return kind
		}
	}
	return ""
}
