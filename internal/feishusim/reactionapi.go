package feishusim

import (
	"slices"
	"strings"
)

// reactionAPI serves im-v1/message-reaction.
type reactionAPI struct {
	world *world
	push  func(*event)
}

func (a *reactionAPI) routes() []route {
	const base = "/open-apis/im/v1/messages/{message_id}/reactions"
	return []route{
		api("POST "+base, a.create),
		api("GET "+base, a.list),
		api("DELETE "+base+"/{reaction_id}", a.delete),
	}
}

func (a *reactionAPI) create(q *request) (any, *refusal) {
	var in struct {
		Type struct {
			Emoji string `json:"emoji_type"`
		} `json:"reaction_type"`
	}
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	if !emojis[in.Type.Emoji] {
		return nil, refuse(RuleField, codeEmoji, "The reaction_type %q is invalid.", in.Type.Emoji)
	}
	// Pushed after the lock is released: push takes the hub's lock, and nothing here may hold both.
	data, ev, bad := a.addReaction(q.PathValue("message_id"), in.Type.Emoji)
	if bad == nil {
		a.push(ev)
	}
	return data, bad
}

func (a *reactionAPI) addReaction(messageID, emoji string) (any, *event, *refusal) {
	return a.on(messageID, func(m *message) (*reaction, string, *refusal) {
		return m.react(a.world.bot, User{}, emoji), eventReactionCreated, nil
	})
}

// on changes the reactions of a message under the lock and returns the event for the caller to push.
func (a *reactionAPI) on(messageID string,
	change func(*message) (*reaction, string, *refusal)) (any, *event, *refusal) {
	w := a.world
	defer w.notify.bump()
	w.mu.Lock()
	defer w.mu.Unlock()
	m, bad := w.reachable(messageID, codeGone)
	if bad != nil {
		return nil, nil, bad
	}
	r, kind, bad := change(m)
	if bad != nil {
		return nil, nil, bad
	}
	return r.data(), w.reacted(kind, m, r), nil
}

func (a *reactionAPI) delete(q *request) (any, *refusal) {
	data, ev, bad := a.remove(q.PathValue("message_id"), q.PathValue("reaction_id"))
	if bad == nil {
		a.push(ev)
	}
	return data, bad
}

// remove removes a reaction of the bot. Repeating it is not a violation: the answer to the first call may have been
// lost.
func (a *reactionAPI) remove(messageID, reactionID string) (any, *event, *refusal) {
	return a.on(messageID, func(m *message) (*reaction, string, *refusal) {
		i := slices.IndexFunc(m.reactions, func(r *reaction) bool { return r.id == reactionID })
		switch {
		case i < 0 && slices.Contains(m.unreacted, reactionID):
			return nil, "", refuse("", codeField, "no reaction %q any more", reactionID)
		case i < 0:
			return nil, "", refuse(RuleUnknownID, codeField, "no reaction %q", reactionID)
		case m.reactions[i].by.ID != a.world.bot.ID:
			return nil, "", refuse(RulePermission, codeNotReactor,
				"no permission to delete the reaction of somebody else")
		}
		r := m.reactions[i]
		m.reactions, m.unreacted = slices.Delete(m.reactions, i, i+1), append(m.unreacted, r.id)
		return r, eventReactionDeleted, nil
	})
}

// list returns the reactions of a message, of one type or all, in one page.
func (a *reactionAPI) list(q *request) (any, *refusal) {
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	m, bad := w.reachable(q.PathValue("message_id"), codeGone)
	if bad != nil {
		return nil, bad
	}
	items := []any{}
	for _, r := range m.reactions {
		if t := q.URL.Query().Get("reaction_type"); t == "" || t == r.emoji {
			items = append(items, r.data())
		}
	}
	return map[string]any{"items": items, "has_more": false, "page_token": ""}, nil
}

func (r *reaction) data() any {
	return map[string]any{"reaction_id": r.id, "reaction_type": map[string]string{"emoji_type": r.emoji},
		"operator": map[string]string{"operator_id": r.by.ID, "operator_type": r.by.Type}, "action_time": millis(r.at)}
}

// emojis are the emoji types (doc: im-v1/message-reaction/emojis-introduce); names are case sensitive.
var emojis = func() map[string]bool {
	out := make(map[string]bool)
	for _, name := range strings.Fields(emojiNames) {
		out[name] = true
	}
	return out
}()

const emojiNames = `OK THUMBSUP THANKS MUSCLE FINGERHEART APPLAUSE FISTBUMP JIAYI DONE SMILE BLUSH LAUGH SMIRK LOL
FACEPALM LOVE WINK PROUD WITTY SMART SCOWL THINKING SOB CRY ERROR NOSEPICK HAUGHTY SLAP SPITBLOOD TOASTED GLANCE DULL
INNOCENTSMILE JOYFUL WOW TRICK YEAH ENOUGH TEARS EMBARRASSED KISS SMOOCH DROOL OBSESSED MONEY TEASE SHOWOFF COMFORT
CLAP PRAISE STRIVE XBLUSH SILENT WAVE WHAT FROWN SHY DIZZY LOOKDOWN CHUCKLE WAIL CRAZY WHIMPER HUG BLUBBER WRONGED
HUSKY SHHH SMUG ANGRY HAMMER SHOCKED TERROR PETRIFIED SKULL SWEAT SPEECHLESS SLEEP DROWSY YAWN SICK PUKE BETRAYED
HEADSET EatingFood MeMeMe Sigh Typing Lemon Get LGTM OnIt OneSecond VRHeadset YouAreTheBest SALUTE SHAKE HIGHFIVE
UPPERLEFT ThumbsDown SLIGHT TONGUE EYESCLOSED RoarForYou CALF BEAR BULL RAINBOWPUKE ROSE HEART PARTY LIPS BEER CAKE
GIFT CUCUMBER Drumstick Pepper CANDIEDHAWS BubbleTea Coffee Yes No OKR CheckMark CrossMark MinusOne Hundred AWESOMEN
Pin Alarm Loudspeaker Trophy Fire BOMB Music XmasTree Snowman XmasHat FIREWORKS 2022 REDPACKET FORTUNE LUCK
FIRECRACKER StickyRiceBalls HEARTBROKEN POOP StatusFlashOfInspiration 18X CLEAVER Soccer Basketball
GeneralDoNotDisturb Status_PrivateMessage GeneralInMeetingBusy StatusReading StatusInFlight GeneralBusinessTrip
GeneralWorkFromHome StatusEnjoyLife GeneralTravellingCar StatusBus GeneralSun GeneralMoonRest MoonRabbit Mooncake
JubilantRabbit TV Movie Pumpkin BeamingFace Delighted ColdSweat FullMoonFace Partying GoGoGo ThanksFace SaluteFace
Shrug ClownFace HappyDragon`
