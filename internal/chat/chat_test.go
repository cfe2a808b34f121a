package chat

import "testing"

func TestKeyReadsBackWhatItWrote(t *testing.T) {
	for _, s := range []string{
		"feishu:chat:oc_xxx", "telegram:chat:123", "web:room:6f1c", "feishu:chat:oc_x:thread:omt_y",
	} {
		k, err := ParseKey(s)
		if err != nil {
			t.Fatal(err)
		}
		if k.String() != s {
			t.Errorf("ParseKey(%q).String() = %q", s, k)
		}
	}
}

func TestParseKeyRefusesOtherForms(t *testing.T) {
	for _, s := range []string{
		"", "oc_x", "feishu:chat", "feishu:chat:", "feishu::x", "a:b:c:d", "a:b:c:topic:e", "a:b:c:thread:",
	} {
		if k, err := ParseKey(s); err == nil {
			t.Errorf("ParseKey(%q) = %v, want an error", s, k)
		}
	}
}

func TestActorKey(t *testing.T) {
	got := FeishuChat("oc_xxx").ActorKey("ou_xxx")
	if want := "feishu:chat:oc_xxx:user:ou_xxx"; got != want {
		t.Errorf("Actor = %q, want %q", got, want)
	}
}

// The name is the prefix and the first 12 bytes of SHA-1("feishu:chat:oc_xxx"), as in another implementation.
func TestStableName(t *testing.T) {
	got := FeishuChat("oc_xxx").StableID("magpie-")
	if want := "magpie-" + sha1OfExample; got != want {
		t.Errorf("Stable = %q, want %q", got, want)
	}
}

const sha1OfExample = "2e066a9a1889e251f61489cb"

func TestACardNamesItsTurn(t *testing.T) {
	c := Card{Buttons: []Button{{Action: Action{Turn: OwnTurn}}, {Action: Action{Turn: 3}}, {}}}
	got := c.OfTurn(7).Buttons
	if got[0].Action.Turn != 7 || got[1].Action.Turn != 3 || got[2].Action.Turn != 0 {
		t.Errorf("%+v", got)
	}
	if c.Buttons[0].Action.Turn != OwnTurn {
		t.Error("the card itself was changed")
	}
}
