package chat

import (
	"errors"
	"strings"
	"testing"
)

func TestIDsOfPeople(t *testing.T) {
	for id, want := range map[string]Key{
		"ou_1":          {Channel: "feishu", Kind: "user", ID: "ou_1"},
		"cli:1000":      {Channel: "cli", Kind: "user", ID: "1000"},
		"telegram:66":   {Channel: "telegram", Kind: "user", ID: "66"},
		"cli:ou_boss":   {Channel: "cli", Kind: "user", ID: "ou_boss"},
		"":              {},
		":1":            {},
		"cli:":          {},
		"feishu:ou_1":   {}, // a second name of ou_1
		"cli:chat:main": {}, // a room
		"CLI:1000":      {},
		"cli :1000":     {},
		"cli:10\u200b0": {},
		"ou_1 ":         {},
		"cli:" + strings.Repeat("x", longestID+1): {},
	} {
		if got := PersonKey(id); got != want {
			t.Errorf("PersonKey(%q) = %+v", id, got)
		}
		if id != "" && want != (Key{}) && !PersonKey(id).IsPerson() {
			t.Errorf("%q is nobody", id)
		}
	}
}

func TestIDsOfRooms(t *testing.T) {
	for id, want := range map[string]Key{
		"oc_team":            {Channel: "feishu", Kind: "chat", ID: "oc_team"},
		"cli:chat:main":      {Channel: "cli", Kind: "chat", ID: "main"},
		"http:room:oc_team":  {Channel: "http", Kind: "room", ID: "oc_team"},
		"feishu:user:ou_1":   {Channel: "feishu", Kind: "user", ID: "ou_1"},
		"telegram:chat:-100": {Channel: "telegram", Kind: "chat", ID: "-100"},
	} {
		got, err := ParseRoom(id)
		if err != nil || got != want {
			t.Errorf("ParseRoom(%q) = %+v, %v", id, got, err)
		}
		got.Thread = "omt_1"
		if got.Room() != id {
			t.Errorf("the room of a topic of %q is %q", id, got.Room())
		}
	}
	for _, id := range []string{"", "feishu:chat:oc_team", "cli:chat:main:thread:x", "cli:1000", "a b", "cli:chat:a b", ":"} {
		if got, err := ParseRoom(id); err == nil {
			t.Errorf("ParseRoom(%q) = %+v", id, got)
		}
	}
}

func TestKindsOfIDs(t *testing.T) {
	for id, want := range map[string]IDKind{
		"ou_1": UserID, "oc_1": RoomID, "od_1": DepartmentID, "cli:1000": UserID, "telegram:66": UserID,
		"cli:chat:main": RoomID, "http:room:6f1c": RoomID,
		"": "", "ou_": "", "xx_1": "", "1000": "", "*": "", "feishu:ou_1": "", "feishu:chat:oc_1": "", "cli:": "", "ou_1 2": "",
	} {
		if got := KindOf(id); got != want {
			t.Errorf("KindOf(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestNobodyComesThroughAnotherDoor(t *testing.T) {
	team, cli := FeishuChat("oc_team"), Key{Channel: "cli", Kind: "chat", ID: "oc_team"}
	for _, tc := range []struct {
		at      Key
		id, who string
		want    error
	}{
		{team, "om_1", "ou_boss", nil}, {cli, "cli:1", "cli:1000", nil}, {cli, "", "cli:ou_boss", nil}, {cli, "", "", nil},
		{team, "cli:1", "cli:1000", nil}, {team, "telegram:1", "telegram:66", nil}, // through a door to another's chat
		{cli, "", "ou_boss", ErrOtherDoor}, {cli, "cli:1", "ou_boss", ErrOtherDoor}, {cli, "cli:1", "1000", ErrOtherDoor},
		{cli, "om_1", "ou_boss", ErrOtherDoor}, {cli, "om_1", "cli:1000", ErrOtherDoor}, {cli, "cli:1", "telegram:1", ErrOtherDoor},
		{team, "om_1", "cli:1000", ErrOtherDoor}, {team, "om_1", "feishu:ou_boss", ErrOtherDoor},
		{team, "cli:1", "ou_boss", ErrOtherDoor}, {Key{}, "", "a:b:c", ErrOtherDoor},
	} {
		if err := CheckActor(Ref{Key: tc.at, ID: tc.id}, Actor{ID: tc.who}); !errors.Is(err, tc.want) {
			t.Errorf("%q with %q at %v: %v", tc.who, tc.id, tc.at, err)
		}
	}
}
