package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Error is a call that the platform did not confirm.
type Error struct {
	Op     string // [Request.Op]
	Code   int    // the platform's code; 0 when it gave none
	Msg    string // the platform's message
	LogID  string // X-Tt-Logid, which the platform's support can look up
	Status int    // HTTP status; 0 when there was no answer
	Err    error  // why there was no answer; nil when there was one

	wait    time.Duration // until the rate limit is reset
	refused bool          // the code is one of [Request.Refusals]
}

// In is the error for people in a language: without our name of the call, with what the operator can do about it.
func (e *Error) In(l i18n.Lang) string {
	text := i18n.ErrorText(l, e.Reason())
	if hint := e.Hint(); hint != nil {
		text += i18n.Phrase{ZH: "；", EN: "; "}.In(l) + i18n.ErrorText(l, hint)
	}
	if e.LogID != "" {
		text += " [log id " + e.LogID + "]"
	}
	return text
}

// Error names the call, the platform's message, and what the operator can do about it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("feishu: " + e.Op)
	switch {
	case e.Code != 0:
		fmt.Fprintf(&b, ": code %d: %s", e.Code, e.Msg)
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	default:
		fmt.Fprintf(&b, ": HTTP %d: %s", e.Status, e.Msg)
	}
	if hint := e.Hint(); hint != nil {
		fmt.Fprintf(&b, " (%v)", hint)
	}
	if e.LogID != "" {
		b.WriteString(" [log id " + e.LogID + "]")
	}
	return b.String()
}

// Unwrap returns the reason for which there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// Is makes [errors.Is] work for [chat.ErrGone], [chat.ErrUnreachable], [chat.ErrSilenced], [chat.ErrRefused] and
// [chat.ErrTooBig].
func (e *Error) Is(target error) bool {
	switch target {
	case chat.ErrGone:
		return ClassOf(e) == MessageGone
	case chat.ErrUnreachable:
		return slices.Contains(unreachable, e.Code)
	case chat.ErrSilenced:
		return slices.Contains(silenced, e.Code)
	case chat.ErrForbidden:
		return forbidden[e.Code] != ""
	case chat.ErrRefused:
		return slices.Contains(censored, e.Code)
	case chat.ErrTooBig:
		return e.Code == 234037 // more than 100 MB (page im-v1/message/get-2)
	}
	return false
}

// unreachable are the codes for a bot that was removed from the chat, for a dissolved, muted or encrypted chat, for one
// whose settings keep the bot silent, and for a person who has left, belongs to another tenant, or does not want the
// bot's messages. Errors that an operator can fix, such as the app's availability range, are not included.
var unreachable = []int{
	230002, 232009, 232011, 230018, 230029, 230034, 230035, 230038, 230053, 230075,
}

// silenced are the unreachable codes for chats whose members can let the bot write again: a muted group, a group whose
// settings keep the bot silent, and a person who does not want the bot's messages.
var silenced = []int{230018, 230035, 230053}

// forbidden are the codes for problems that an operator has to fix in the console: a missing permission, in external
// groups also the app's sharing, its availability, its bot, its credentials, or an app that is disabled or not
// installed.
var forbidden = map[int]chat.Obstacle{
	99991672: chat.NoPermission, 230027: chat.NotShared, 230013: chat.OutOfRange,
	230006: chat.BotOff, 232025: chat.BotOff, 99991662: chat.AppDisabled, 232034: chat.AppNotInstalled,
	10003: chat.WrongCredentials, 10012: chat.WrongCredentials, 10014: chat.WrongCredentials,
}

// Obstacle is what a later attempt of the same call waits for.
func (e *Error) Obstacle() chat.Obstacle {
	switch ClassOf(e) {
	case Unknown, RateLimited, Busy, CircuitOpen:
		return chat.NotAvailable
	}
	return forbidden[e.Code]
}

// censored are the codes for texts with forbidden words (page im-v1/message/create).
var censored = []int{230022, 230028}

// Class says how to react to an error. The codes are from the pages "Generic error code",
// im-v1/message/{create,reply,patch} and cardkit-v1/card/{create,update}, card-element/content.
type Class int

// The classes of errors.
const (
	Refused      Class = iota // permanent: the platform does not accept this call
	Unknown                   // the call may or may not have taken effect: retry it
	RateLimited               // retry after a pause
	Busy                      // the message or card is in use at the moment: retry soon
	SequenceUsed              // the card has a higher sequence already
	StreamingOff              // the operation needs streaming mode, which is off
	EntityLost                // the card entity is gone or not ours
	MessageGone               // the message was deleted, or the ID is unknown
	NoAccess                  // the bot cannot reach this chat, or the platform does not know the app
	BadToken                  // the access token is not valid
	CircuitOpen               // the call was not made, because the circuit is open
)

// ClassOf returns the class of an error. Nil, and any error other than an [Error], is Refused.
func ClassOf(err error) Class {
	var e *Error
	if !errors.As(err, &e) {
		return Refused
	}
	switch {
	case e.refused:
		return Refused
	case slices.Contains(unreachable, e.Code):
		return NoAccess
	case e.Code == 230099 && strings.Contains(e.Msg, "card action is lock"): // a button is being pressed
		return Busy
	}
	switch e.Code {
	case 0:
		return e.classWithoutCode()
	case 99991661, 99991663, 99991664, 99991671, 99991677:
		return BadToken
	case 99991400, 230020, 11232:
		return RateLimited
	case 200810, 230049: // a button is being pressed; the message is still being sent
		return Busy
	case 300317:
		return SequenceUsed
	case 300309, 200850:
		return StreamingOff
	case 200740, 200750, 300311:
		return EntityLost
	case 230011, 230019, 230110, 231003, 99992354: // the second one: a topic; the last one: no message has this ID
		return MessageGone
	case 230006, 230013, 232025, 232034, 10003, 10012, 10014, 99991662:
		return NoAccess
	}
	switch {
	case e.Status >= http.StatusInternalServerError:
		return Unknown
	case e.Status == http.StatusTooManyRequests:
		return RateLimited
	}
	return Refused
}

// classWithoutCode is the class of a call that was not made, that got no reply, or that only a gateway has answered.
func (e *Error) classWithoutCode() Class {
	switch {
	case errors.Is(e.Err, ErrCircuitOpen), errors.Is(e.Err, errShut):
		return CircuitOpen
	case e.Status == http.StatusTooManyRequests:
		return RateLimited
	case e.Status == http.StatusRequestEntityTooLarge:
		return Refused
	}
	return Unknown
}

// MissingPermission reports whether the app lacks a permission for the call.
func MissingPermission(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Code == 99991672 || e.Code == 230027)
}

// TooManyTables reports whether a card was refused because of its tables.
func TooManyTables(err error) bool {
	var e *Error
	return errors.As(err, &e) && strings.Contains(e.Msg, "table number over limit")
}

// Reason is the error without the call, the hint and the log ID, for people who only want to know what is wrong. What
// the platform says is in its own words.
func (e *Error) Reason() error {
	switch {
	case e.Code != 0:
		return i18n.Mistakef("%s（代码 %d）", "%s (code %d)", e.Msg, e.Code)
	case e.Err != nil:
		return e.Err
	}
	return i18n.Mistakef("HTTP 状态 %d", "HTTP status %d", e.Status)
}
